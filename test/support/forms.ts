import { type Dirent, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'

// The forms in which a text may stand in a file: escaped, encoded, compressed, and cut in two by a page of SQLite.

/** A form of a text, by name, as the byte sequences of which each shows that the text is there. */
interface Form {
  readonly name: string
  readonly pieces: readonly Buffer[]
}

const unicodeEscaped = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, n) => `\\u${text.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('')
const asciiOnly = (text: string): string => text.replaceAll(/[^ -~]/g, unicodeEscaped)
const json = (text: string): string => JSON.stringify(text).slice(1, -1)
const withUpperHex = (text: string, hex: RegExp): string => text.replaceAll(hex, (code) => code.toUpperCase())

/** The spellings of a text in JSON, in JSON in a string, and in a URL. */
const spellings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  JSON: json,
  'JSON in JSON': (text) => json(json(text)),
  'JSON of ASCII': (text) => asciiOnly(json(text)),
  'JSON with slashes escaped': (text) => json(text).replaceAll('/', '\\/'),
  'JSON of escapes': unicodeEscaped,
  'JSON of upper-case escapes': (text) => withUpperHex(unicodeEscaped(text), /(?<=u)[0-9a-f]{4}/g),
  URL: encodeURIComponent,
  'lower-case URL': (text) => encodeURIComponent(text).replaceAll(/%../g, (code) => code.toLowerCase()),
  form: (text) => new URLSearchParams({ text }).toString().slice('text='.length),
}

/** The base64 of a text after this many other bytes, without the characters that depend on what is around it. */
const base64At = (bytes: Buffer, before: number, encoding: 'base64' | 'base64url'): string => {
  const first = Math.ceil((before * 4) / 3)
  const last = Math.floor(((before + bytes.length) * 4) / 3)
  return Buffer.concat([Buffer.alloc(before), bytes])
    .toString(encoding)
    .slice(first, last)
}

const encodings: Readonly<Record<string, (bytes: Buffer) => string | Buffer>> = {
  '': (bytes) => bytes,
  'UTF-16': (bytes) => Buffer.from(bytes.toString(), 'utf16le'),
  'UTF-16BE': (bytes) => Buffer.from(bytes.toString(), 'utf16le').swap16(),
  hex: (bytes) => bytes.toString('hex'),
  'upper-case hex': (bytes) => bytes.toString('hex').toUpperCase(),
  ...Object.fromEntries(
    (['base64', 'base64url'] as const).flatMap((encoding) =>
      [0, 1, 2].map((before) => [
        `${encoding} + ${before}`,
        (bytes: Buffer) => base64At(bytes, before, encoding),
      ]),
    ),
  ),
}

/**
 * Lists the forms of a text, each once: every spelling, and every encoding of the text itself and of its JSON. Either half of a form is
 * enough, because SQLite may store the two on different pages.
 */
export const formsOf = (text: string): readonly Form[] => {
  const forms = new Map<string, Form>()
  for (const [spelling, spell] of Object.entries(spellings))
    for (const [encoding, encode] of Object.entries(encodings)) {
      if (encoding !== '' && spelling !== 'plain' && spelling !== 'JSON') continue
      const bytes = Buffer.from(encode(Buffer.from(spell(text))))
      const key = bytes.toString('latin1')
      const half = bytes.length >> 1
      const pieces = [bytes.subarray(0, half), bytes.subarray(half)]
      if (!forms.has(key)) forms.set(key, { name: [spelling, encoding].filter(Boolean).join(', '), pieces })
    }
  return [...forms.values()]
}

const magics: readonly (readonly [name: string, start: Buffer, open: (bytes: Buffer) => Buffer])[] = [
  ['gzip', Buffer.of(0x1f, 0x8b, 0x08), (bytes) => gunzipSync(bytes, lenient)],
  ...[0x01, 0x5e, 0x9c, 0xda].map(
    (level) => ['zlib', Buffer.of(0x78, level), (bytes: Buffer) => inflateSync(bytes, lenient)] as const,
  ),
  ['zstd', Buffer.of(0x28, 0xb5, 0x2f, 0xfd), (bytes) => zstdDecompressSync(bytes, { maxOutputLength })],
]
const maxOutputLength = 2 ** 26
/** Options of the decompression: text after a stream is no part of it, and a stream that is cut off has at least its beginning. */
const lenient = { maxOutputLength, finishFlush: 2 }

/** Returns bytes, and the contents of the compressed streams in them. Streams without a magic number are found only at the beginning. */
export const withUncompressed = (
  bytes: Buffer,
): readonly (readonly [compression: string, bytes: Buffer])[] => {
  const found: (readonly [string, Buffer])[] = [['', bytes]]
  const add = (name: string, open: () => Buffer): void => {
    try {
      found.push([name, open()])
    } catch {
      // These bytes only look like a compressed stream.
    }
  }
  for (const [name, start, open] of magics)
    for (let at = bytes.indexOf(start); at >= 0; at = bytes.indexOf(start, at + 1))
      add(name, () => open(bytes.subarray(at)))
  add('brotli', () => brotliDecompressSync(bytes, { maxOutputLength }))
  add('deflate', () => inflateRawSync(bytes, { maxOutputLength }))
  return found
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry: Dirent) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

/** Everything in the files of a folder, compressed streams included. */
export const bytesIn = (folder: string) =>
  filesIn(folder).flatMap((file) => withUncompressed(readFileSync(file)))

/** Names the forms of a text that stand in such bytes. */
export const formsIn = (bytes: ReturnType<typeof bytesIn>, forms: readonly Form[]): readonly string[] => [
  ...new Set(
    forms.flatMap(({ name, pieces }) =>
      bytes
        .filter(([, one]) => pieces.some((piece) => one.includes(piece)))
        .map(([compression]) => [name, compression].filter(Boolean).join(', ')),
    ),
  ),
]
