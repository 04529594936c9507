import type { Context } from 'hono'
import { refused } from './problem.ts'

/** The JSON of a request's body; an empty one is `{}`. Throws `BodyTooLarge`, `UnsupportedMediaType` or `InvalidRequest`. */
export const bodyOf = async (c: Context, most: number): Promise<unknown> => {
  const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  const text = await textOf(c, most)
  if (text === '') return {}
  if (type !== 'application/json')
    throw refused('UnsupportedMediaType', 'send JSON: Content-Type: application/json')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused('InvalidRequest', `the body is not JSON: ${(error as Error).message}`)
  }
}

const textOf = async (c: Context, most: number): Promise<string> => {
  const length = c.req.header('content-length')
  if (length === undefined || c.req.header('transfer-encoding') !== undefined) return counted(c, most)
  if (Number(length) > most) throw tooLarge(most)
  // No more than that is read of it, and the adapter has a way of its own for it, without a stream of the web's.
  return c.req.text()
}

const counted = async ({ req }: Context, most: number): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const piece of req.raw.body ?? []) {
    bytes += piece.length
    if (bytes > most) throw tooLarge(most)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

const tooLarge = (most: number): Error =>
  refused('BodyTooLarge', `a body has at most ${most} bytes`, { limit: most })
