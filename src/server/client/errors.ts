import type { PalimpsestError } from '../../index.ts'
import type { RequestTag } from '../problem.ts'

/** Error that occurs only in requests to a server. */
export interface RequestRefusal<T extends RequestTag = RequestTag> {
  readonly _tag: T
  readonly message: string
}

/** Any typed error of a client: an error of the library or of a request. */
export type ClientError = PalimpsestError | { readonly [T in RequestTag]: RequestRefusal<T> }[RequestTag]

type Tagged<T> = Extract<ClientError, { readonly _tag: T }>

/**
 * Reports whether a thrown value is the typed error with this tag, and narrows it to the type of its data. Without a tag, reports
 * whether it is any typed error of the client.
 *
 * @example
 * import { isError, openClient } from 'palimpsest/client'
 *
 * const task = openClient('http://127.0.0.1:4141').conversation('task-42')
 * try {
 *   await task.append({ role: 'assistant', content: 'At line 80.' }, { after: 0 })
 * } catch (error) {
 *   if (!isError(error, 'StaleContext')) throw error
 *   console.log(`something was appended after ${error.after}: the last position is ${error.last}`)
 * }
 */
export const isError = <T extends ClientError['_tag']>(error: unknown, tag?: T): error is Tagged<T> =>
  error instanceof Error && '_tag' in error && error._tag === (tag ?? error.name)

const withTag = (tag: string, message: string, data: object): Error =>
  Object.assign(new Error(message), data, { _tag: tag, name: tag })

/** Makes the error for an empty path parameter. The path would otherwise name another resource. */
export const emptyParameter = (name: string): Error =>
  withTag('InvalidInput', `${name}: must not be empty`, { path: name })

/** Makes the error for a value that JSON cannot hold or that is nested too deeply. */
export const unsendable = (cause: unknown): Error =>
  withTag(
    'InvalidInput',
    `it cannot be sent as JSON (${cause instanceof Error ? cause.message : String(cause)})`,
    {
      path: '',
      cause,
    },
  )

/** Makes the error for a server that does not answer, or whose response does not have the form that `palimpsest serve` uses. */
export const unavailable = (store: string, message: string, cause?: unknown): Error =>
  withTag('StoreUnavailable', message, { store, cause })

/** Converts a problem document (RFC 9457) back to the typed error. Any other response becomes `StoreUnavailable`. */
export const errorOf = (problem: unknown, store: string, status: number): Error => {
  const fields = typeof problem === 'object' && problem !== null ? { ...problem } : {}
  const { type: _, title: __, status: ___, tag, detail, ...data } = fields as Record<string, unknown>
  return typeof tag === 'string'
    ? withTag(
        tag,
        tag === 'Unauthorized' ? `${String(detail)} (the option \`token\` of openClient)` : String(detail),
        data,
      )
    : unavailable(
        store,
        `${store} answered with HTTP ${status}, not in the form that palimpsest serve uses: check the URL`,
      )
}
