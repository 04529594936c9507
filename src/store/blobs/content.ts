import { createHash } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { piecesOf } from '../../events/pieces.ts'
import { blobChunk } from '../port.ts'

/** Content of a string in a JSON text, stored as a blob. */
export interface Content {
  /** SHA-256 of the bytes, in hex. */
  readonly sha256: string
  readonly bytes: number
  /** True if the bytes are the text between the quotes, including escapes; otherwise they are the string's value. */
  readonly isRaw: boolean
  /** The bytes; may be iterated more than once. */
  readonly chunks: Iterable<Uint8Array>
}

/**
 * Returns the content of a JSON string: its value as UTF-8, or the text between the quotes if encoding the value would not reproduce
 * that text (escapes that `JSON.stringify` does not write, a lone surrogate). Works in pieces, without a copy of the whole string.
 *
 * @param inner the text between the quotes, well-formed
 */
export const contentOf = (inner: string): Content => {
  const form = formOf(inner)
  const isRaw = form === 'raw'
  const chunks = { [Symbol.iterator]: () => chunksOf(inner, form === 'escaped') }
  const hash = createHash('sha256')
  let bytes = 0
  for (const chunk of chunks) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { sha256: hash.digest('hex'), bytes, isRaw, chunks }
}

function* chunksOf(inner: string, isEscaped: boolean): Generator<Uint8Array, void> {
  for (const piece of piecesOf(inner, blobChunk)) {
    const bytes = Buffer.from(isEscaped ? valueOf(piece) : piece)
    for (let at = 0; at < bytes.length; at += blobChunk) yield bytes.subarray(at, at + blobChunk)
  }
}

/**
 * Classifies the text between a string's quotes: `plain` equals the string's value, `escaped` is the value as written by
 * `JSON.stringify`, and `raw` is any other text, which is kept verbatim.
 */
const formOf = (inner: string): 'plain' | 'escaped' | 'raw' => {
  let form: 'plain' | 'escaped' = 'plain'
  try {
    for (const piece of piecesOf(inner, blobChunk)) {
      if (toEscape.test(piece)) form = 'escaped'
      const value = form === 'plain' ? piece : valueOf(piece)
      if (!value.isWellFormed() || (form === 'escaped' && escaped(value) !== piece)) return 'raw'
    }
    return form
  } catch (error) {
    if (error instanceof SyntaxError) return 'raw'
    throw error
  }
}

const valueOf = (inner: string): string => (toEscape.test(inner) ? String(JSON.parse(`"${inner}"`)) : inner)
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const toEscape = /["\\\u0000-\u001f]/
const escaped = (value: string): string => (toEscape.test(value) ? JSON.stringify(value).slice(1, -1) : value)

/** A blob as read: the hash and length of its bytes, and its JSON text without the quotes, in pieces. */
export interface ReadContent {
  readonly sha256: string
  readonly bytes: number
  readonly texts: readonly string[]
}

/** Reads a blob. Throws any error thrown by the iteration over `chunks`. */
export const readContent = async (
  chunks: AsyncIterable<Uint8Array>,
  isRaw: boolean,
): Promise<ReadContent> => {
  const hash = createHash('sha256')
  const decoder = new StringDecoder('utf8')
  const texts: string[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    hash.update(chunk)
    bytes += chunk.length
    const text = decoder.write(chunk)
    texts.push(isRaw ? text : escaped(text))
  }
  return { sha256: hash.digest('hex'), bytes, texts }
}
