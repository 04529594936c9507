import type { Context } from 'hono'
import * as E from 'fp-ts/lib/Either.js'
import type { z } from 'zod'
import { parseWith } from '../events/check.ts'
import { parseBoundedJson } from '../events/json.ts'
import { isTyped, toError } from '../result/typed-error.ts'
import { inexactNumber } from './exact-numbers.ts'
import { requestError } from './problem.ts'

/** Parses a value with a schema. Throws `InvalidInput`. */
export const parseBody = <S extends z.ZodType>(schema: S, value: unknown): z.infer<S> => {
  const given = parseWith(schema, value)
  if (E.isLeft(given)) throw toError(given.left)
  return given.right
}

/** Parses the JSON body of a request; an empty body is read as `{}`. Throws `UnsupportedMediaType` or `InvalidRequest`. */
export const jsonIn = (type: string | undefined, text: string): unknown => {
  if (text === '') return {}
  if (type?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw requestError('UnsupportedMediaType', 'send JSON: Content-Type: application/json')
  let value: unknown
  try {
    value = parseBoundedJson(text)
  } catch (error) {
    throw requestError('InvalidRequest', `the body is not JSON: ${(error as Error).message}`)
  }
  const number = inexactNumber(text)
  if (number === undefined) return value
  const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number
  throw requestError('InvalidRequest', `the number ${shown} would be changed: send it as a string`)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
/** Decodes the bytes of a body. Throws `InvalidRequest` if they are not UTF-8. */
export const decodeBody = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    const replaced = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
    const at = bytes.findIndex((byte, index) => byte !== replaced[index])
    throw requestError(
      'InvalidRequest',
      `the body is not UTF-8: byte ${at < 0 ? bytes.length : at} is not part of a character`,
    )
  }
}

/** Reads the body of a request as text. Throws `BodyTooLarge`, or `InvalidRequest` if the body ends early or is not UTF-8. */
export const textOf = async ({ req }: Context, most: number): Promise<string> => {
  const length = req.header('content-length')
  const isCounted = length === undefined || req.header('transfer-encoding') !== undefined
  if (!isCounted && Number(length) > most) throw tooLarge(most)
  try {
    // Node reads at most `Content-Length` bytes, and the `arrayBuffer` method of the adapter needs no web stream.
    return decodeBody(
      await (isCounted ? counted(req.raw, most) : req.arrayBuffer().then((all) => new Uint8Array(all))),
    )
  } catch (error) {
    throw isTyped(error) ? error : bodyBrokenOff()
  }
}

/** Makes the error for a body that ends early, because the client has disconnected or stopped sending. */
export const bodyBrokenOff = (): Error => requestError('InvalidRequest', 'the request body ended early')

const counted = async ({ body }: Request, most: number): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > most) throw tooLarge(most)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const tooLarge = (most: number): Error =>
  requestError('BodyTooLarge', `a body may have at most ${most} bytes`, { limit: most })
