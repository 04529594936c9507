import { type Fields, isFields } from '../events/json.ts'

// Reads type and size from a picture's first bytes, and checks pictures against limits of the Messages API, all of which are published
// ("Vision", 2026-11).

/** Maximum width or height of a picture, in pixels. */
const maxSide = 8_000
/** Maximum size of a picture, in base64 characters; documented as "5 MB". */
const maxData = 5 * 1_024 * 1_024

/** Media type and size of a picture, read from its first bytes. */
export interface PictureFacts {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  /** Width in pixels, > 0; `height` likewise. */
  readonly width: number
  readonly height: number
}

/**
 * Returns the base64 data in a text in the form that the API accepts: without a data-URL prefix or white space, in the usual alphabet,
 * padded. Returns the same text if it already has this form; undefined if it contains no base64.
 */
export const base64In = (given: string): string | undefined => {
  // Nearly all texts already have this form. They are large, so they are not copied.
  if (given.length % 4 === 0 && isBase64.test(given)) return given
  const digits = given
    .replace(/^data:[^,]*,/, '')
    .replaceAll(/\s+/g, '')
    .replace(/=+$/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
  const padded = digits.padEnd(Math.ceil(digits.length / 4) * 4, '=')
  return digits.length % 4 !== 1 && isBase64.test(padded) ? padded : undefined
}
const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/

/**
 * Reads the type and size of a picture from its first bytes, without decoding it. Returns undefined if these bytes do not contain both.
 */
export const pictureIn = (base64: string): PictureFacts | undefined => {
  const file = bytesIn(base64)
  if (file.text(0, 8) === '\x89PNG\r\n\x1a\n')
    return file.text(12, 4) === 'IHDR' ? picture('image/png', file.big(16, 4), file.big(20, 4)) : undefined
  if (/^GIF8[79]a$/.test(file.text(0, 6))) return picture('image/gif', file.little(6, 2), file.little(8, 2))
  if (file.text(0, 4) === 'RIFF' && file.text(8, 4) === 'WEBP') return webpIn(file)
  return file.big(0, 2) === 0xff_d8 ? jpegIn(file) : undefined
}

/**
 * Returns the reason why the API rejects this picture in any request, regardless of other pictures in the request; undefined if the API
 * may accept it.
 */
export const tooLarge = (
  { width, height }: Omit<PictureFacts, 'mediaType'>,
  base64: string,
): string | undefined => {
  if (Math.max(width, height) > maxSide)
    return `it has ${width} × ${height} pixels, and a side may have ${maxSide}`
  return base64.length > maxData
    ? `it has ${base64.length} characters of base64, and a picture may have ${maxData}`
    : undefined
}

/** Returns the base64 data or the data URL of an image source; undefined for any other source. */
export const dataOf = (source: unknown): string | undefined => {
  if (!isFields(source)) return undefined
  const { type, data, url } = source
  if (type === 'base64' && typeof data === 'string' && data !== '') return data
  return type === 'url' && typeof url === 'string' && url.startsWith('data:') ? url : undefined
}

interface Oversized {
  readonly path: string
  readonly problem: string
}

/** Finds the first picture in these blocks, at any depth, that the API rejects in every request. Returns its path and the reason. */
export const findOversized = (blocks: unknown): Oversized | undefined => {
  if (!Array.isArray(blocks)) return undefined
  for (const [index, block] of (blocks as readonly unknown[]).entries()) {
    const found = isFields(block) ? problemOf(block) : undefined
    if (found) return { ...found, path: `[${index}]${found.path}` }
  }
  return undefined
}

const problemOf = ({ type, content, source }: Fields): Oversized | undefined => {
  if (type === 'tool_result') return inside('.content', content)
  if (type === 'document' && isFields(source)) return inside('.source.content', source['content'])
  const data = type === 'image' ? dataOf(source) : undefined
  const base64 = data === undefined ? undefined : base64In(data)
  const shown = base64 === undefined ? undefined : pictureIn(base64)
  const problem = shown && base64 !== undefined ? tooLarge(shown, base64) : undefined
  return problem === undefined ? undefined : { path: '', problem }
}

const inside = (path: string, content: unknown): Oversized | undefined => {
  const found = findOversized(content)
  return found && { ...found, path: `${path}${found.path}` }
}

/** The bytes of a base64 text, decoded when read. Bytes beyond the end are 0. */
interface Bytes {
  readonly length: number
  readonly text: (at: number, length: number) => string
  /** Reads an integer of `length` bytes, big-endian. */
  readonly big: (at: number, length: number) => number
  /** Reads an integer of `length` bytes, little-endian. */
  readonly little: (at: number, length: number) => number
}

const bytesIn = (base64: string): Bytes => {
  const digit = (at: number): number => Math.max(0, alphabet.indexOf(base64.charAt(at) || '='))
  const byte = (at: number): number => {
    const first = Math.floor(at / 3) * 4 + (at % 3)
    const shift = 4 - 2 * (at % 3)
    return (((digit(first) << 6) | digit(first + 1)) >> shift) & 0xff
  }
  const bytes = (at: number, length: number): readonly number[] =>
    Array.from({ length }, (_, index) => byte(at + index))
  const whole = (parts: readonly number[]): number => parts.reduce((sum, part) => sum * 256 + part, 0)
  return {
    length: Math.floor((base64.length * 3) / 4),
    text: (at, length) => String.fromCharCode(...bytes(at, length)),
    big: (at, length) => whole(bytes(at, length)),
    little: (at, length) => whole(bytes(at, length).toReversed()),
  }
}
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

const picture = (
  mediaType: PictureFacts['mediaType'],
  width: number,
  height: number,
): PictureFacts | undefined => (width > 0 && height > 0 ? { mediaType, width, height } : undefined)

const webpIn = (file: Bytes): PictureFacts | undefined => {
  switch (file.text(12, 4)) {
    case 'VP8 ':
      return picture('image/webp', file.little(26, 2) & 0x3f_ff, file.little(28, 2) & 0x3f_ff)
    case 'VP8L': {
      const bits = file.little(21, 4)
      return picture('image/webp', (bits & 0x3f_ff) + 1, (Math.floor(bits / 0x40_00) & 0x3f_ff) + 1)
    }
    case 'VP8X':
      return picture('image/webp', file.little(24, 3) + 1, file.little(27, 3) + 1)
    default:
      return undefined
  }
}

/** Maximum number of segments to read. No camera or editor writes that many before the first frame. */
const maxSegments = 2_000

/** Reads the size of a JPEG from its first frame header, after skipping earlier segments by their stated lengths. */
const jpegIn = (file: Bytes): PictureFacts | undefined => {
  let at = 2
  for (let segment = 0; segment < maxSegments && at + 9 <= file.length; segment++) {
    const marker = file.big(at, 2)
    if (marker < 0xff_01) return undefined
    if (marker === 0xff_ff) {
      // Markers may be preceded by fill bytes of this value.
      at++
      continue
    }
    if (marker >= 0xff_c0 && marker <= 0xff_cf && ![0xff_c4, 0xff_c8, 0xff_cc].includes(marker))
      return picture('image/jpeg', file.big(at + 7, 2), file.big(at + 5, 2))
    at += 2 + file.big(at + 2, 2)
  }
  return undefined
}
