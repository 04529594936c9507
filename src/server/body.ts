import type { Context } from 'hono'
import * as E from 'fp-ts/lib/Either.js'
import type { z } from 'zod'
import { parseWith } from '../events/check.ts'
import { parseBoundedJson } from '../events/json.ts'
import { isTyped, toError } from '../result/typed-error.ts'
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
  try {
    return parseBoundedJson(text)
  } catch (error) {
    throw requestError('InvalidRequest', `the body is not JSON: ${(error as Error).message}`)
  }
}

/** Reads the body of a request as text. Throws `BodyTooLarge`, or `InvalidRequest` if the body ends early. */
export const textOf = async ({ req }: Context, most: number): Promise<string> => {
  const length = req.header('content-length')
  const isCounted = length === undefined || req.header('transfer-encoding') !== undefined
  if (!isCounted && Number(length) > most) throw tooLarge(most)
  try {
    // Node reads at most `Content-Length` bytes, and the `text` method of the adapter needs no web stream.
    return await (isCounted ? counted(req.raw, most) : req.text())
  } catch (error) {
    throw isTyped(error) ? error : bodyBrokenOff()
  }
}

/** Makes the error for a body that ends early, because the client has disconnected or stopped sending. */
export const bodyBrokenOff = (): Error => requestError('InvalidRequest', 'the request body ended early')

const counted = async ({ body }: Request, most: number): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > most) throw tooLarge(most)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

const tooLarge = (most: number): Error =>
  requestError('BodyTooLarge', `a body may have at most ${most} bytes`, { limit: most })
