import type { PalimpsestError } from '../../index.ts'
import type { RequestTag } from '../problem.ts'

/** What only a request to a server can be refused for. */
export interface RequestRefusal<T extends RequestTag = RequestTag> {
  readonly _tag: T
  readonly message: string
}

/** Every typed error of a client: those of the library, and what only a request can be refused for. */
export type ClientError = PalimpsestError | { readonly [T in RequestTag]: RequestRefusal<T> }[RequestTag]

type Tagged<T> = Extract<ClientError, { readonly _tag: T }>

/**
 * Whether something that was thrown is the typed error with this tag; narrows it to the type of its data.
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
export const isError = <T extends ClientError['_tag']>(error: unknown, tag: T): error is Tagged<T> =>
  error instanceof Error && '_tag' in error && error._tag === tag

const withTag = (tag: string, message: string, data: object): Error =>
  Object.assign(new Error(message), data, { _tag: tag, name: tag })

/** A path would name something else. */
export const emptyParameter = (name: string): Error =>
  withTag('InvalidInput', `${name}: has at least one character`, { path: name })

/** What JSON cannot hold, or is nested too deeply. */
export const unsendable = (cause: unknown): Error =>
  withTag(
    'InvalidInput',
    `it cannot be sent as JSON (${cause instanceof Error ? cause.message : String(cause)})`,
    {
      path: '',
      cause,
    },
  )

/** Nobody answers, or not as a server of Palimpsest does. */
export const unavailable = (store: string, message: string, cause?: unknown): Error =>
  withTag('StoreUnavailable', message, { store, cause })

/** A problem (RFC 9457) as the typed error that it was. */
export const errorOf = (problem: unknown, store: string, status: number): Error => {
  const fields = typeof problem === 'object' && problem !== null ? { ...problem } : {}
  const { type: _, title: __, status: ___, tag, detail, ...data } = fields as Record<string, unknown>
  return typeof tag === 'string'
    ? withTag(tag, String(detail), data)
    : unavailable(store, `${store} answers with HTTP ${status}, and not as palimpsest serve does`)
}
