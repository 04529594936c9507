import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../../src/events/codec.ts'
import { piecesOf } from '../../../src/events/pieces.ts'
import { contentOf, readContent } from '../../../src/store/blobs/content.ts'
import { cutLiterals, restoreLiterals, referencesOf } from '../../../src/store/blobs/cut.ts'
import { isCut } from '../../../src/store/marks.ts'
import { literalsOver } from '../../../src/store/blobs/literals.ts'
import { blobChunk } from '../../../src/store/port.ts'
import { right } from '../../support/either.ts'
import { runs } from '../../support/runs.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const event = (data: string, metadata = '{"schema":1,"prev":null}'): StoredEvent => ({
  id: 'id',
  type: 'MessageAppended',
  data,
  metadata,
})
const innerOf = (value: string): string => JSON.stringify(value).slice(1, -1)

async function* streamed(chunks: Iterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += size) yield chunk.subarray(at, at + size)
}

/** The event without its strings of more than so many bytes, and put together again from blobs that come in small chunks. */
const thereAndBack = async (
  whole: StoredEvent,
  over: number,
): Promise<{ readonly stored: StoredEvent; readonly back: StoredEvent }> => {
  const { event: stored, contents } = cutLiterals(whole, literalsOver(whole.data, over))
  const texts = new Map<string, readonly string[]>()
  for (const { sha256: hash, isRaw, bytes, chunks } of contents) {
    const read = await readContent(streamed(chunks, 7), isRaw)
    expect(read).toMatchObject({ sha256: hash, bytes })
    texts.set(`${hash} ${isRaw}`, read.texts)
  }
  const back = restoreLiterals(
    stored,
    referencesOf(stored) ?? [],
    ({ sha256: hash, raw = false }) => texts.get(`${hash} ${raw}`) ?? [],
  )
  return { stored, back: right(back) }
}

describe('the strings of a JSON text that are too long', () => {
  test('are those of more bytes than the threshold, keys included, in order', () => {
    const text = JSON.stringify({ a: 'x'.repeat(10), ['k'.repeat(11)]: 'y'.repeat(12), n: [1, null, 'z'] })
    const found = literalsOver(text, 10)
    expect(found.map(({ from, to }) => text.slice(from, to))).toEqual(['k'.repeat(11), 'y'.repeat(12)])
    expect(found.map(({ bytes }) => bytes)).toEqual([11, 12])
  })

  test.each([
    ['ASCII', 'x'.repeat(12), 12],
    ['bytes of UTF-8, not characters', '€'.repeat(4), 12],
    ['escapes as they stand', '\n'.repeat(6), 12],
    ['pairs', '😀'.repeat(3), 12],
  ])('the threshold is exact: %s', (_, value, bytes) => {
    const text = JSON.stringify([value])
    expect(literalsOver(text, bytes)).toEqual([])
    expect(literalsOver(text, bytes - 1)).toEqual([{ from: 2, to: text.length - 2, bytes }])
  })

  test.each([
    ['an escaped quote ends no string', String.raw`["aaaa\"bbbb","c"]`, [String.raw`aaaa\"bbbb`]],
    [
      'an escaped backslash before a quote does',
      String.raw`["aaaaaaa\\","bbbbbbb\\\"x"]`,
      [String.raw`aaaaaaa\\`, String.raw`bbbbbbb\\\"x`],
    ],
    ['a text that ends in a string has none there', '["aaaaaaaaaaaa', []],
    ['half a pair, unescaped, stays where it is', '["aaaaaaaaaaaa\ud800"]', []],
  ])('%s', (_, text, expected) => {
    expect(literalsOver(text, 8).map(({ from, to }) => text.slice(from, to))).toEqual(expected)
  })
})

describe('pieces of a text', () => {
  test('are the text, each within the size, and part neither an escape nor a pair', () => {
    const parts = fc.constantFrom('a', '€', '😀', '\\n', '\\\\', '\\"', '\\u0001', '\\ud83d')
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 60 }), fc.integer({ min: 6, max: 20 }), (tokens, size) => {
        const pieces = [...piecesOf(tokens.join(''), size)]
        expect(pieces.join('')).toBe(tokens.join(''))
        for (const piece of pieces) {
          expect(piece.length).toBeGreaterThan(0)
          expect(piece.length).toBeLessThanOrEqual(size)
          expect(piece.isWellFormed()).toBe(true)
          expect(() => JSON.parse(`"${piece}"`) as unknown).not.toThrow()
        }
      }),
      { numRuns: runs(500) },
    )
  })
})

describe('the content of a string', () => {
  test.each([
    ['is its value: the hash of an image is that of its base64', 'QUJD'.repeat(50)],
    ['is its value where escapes were needed', 'a "quoted"\nline \\ \u0000 and é 😀'],
  ])('%s', (_, value) => {
    const { isRaw, bytes, sha256: hash } = contentOf(innerOf(value))
    expect({ isRaw, bytes, hash }).toEqual({
      isRaw: false,
      bytes: Buffer.byteLength(value),
      hash: sha256(value),
    })
  })

  test.each([
    ['another way to escape', String.raw`caf\u00e9`],
    ['an escaped slash', String.raw`a\/b`],
    ['half a pair, escaped', String.raw`half \ud83d`],
    ['two halves, escaped', String.raw`\ud83d\ude00`],
    ['a control character, which JSON forbids', 'a\tb'],
    ['an escape that there is not', String.raw`\x41`],
  ])('is the text as it stands where the value would not lead back to it: %s', (_, inner) => {
    expect(contentOf(inner)).toMatchObject({ isRaw: true, sha256: sha256(inner) })
  })

  test('comes in chunks of bounded size, again and again', () => {
    const { chunks, bytes } = contentOf('€'.repeat(blobChunk))
    for (let time = 0; time < 2; time++) {
      const lengths = [...chunks].map(({ length }) => length)
      expect(Math.max(...lengths)).toBeLessThanOrEqual(blobChunk)
      expect(lengths.reduce((sum, length) => sum + length)).toBe(bytes)
    }
  })
})

describe('a cut event', () => {
  test('has the hash where the string was, and says so first in its metadata', () => {
    const value = 'x'.repeat(2_000)
    const { event: stored, contents } = cutLiterals(
      event(JSON.stringify({ text: value, more: 1 })),
      literalsOver(JSON.stringify({ text: value, more: 1 }), 1_024),
    )
    expect(stored.data).toBe(`{"text":"sha256:${sha256(value)}","more":1}`)
    expect(JSON.parse(stored.metadata)).toEqual({
      $blobs: [{ at: 9, sha256: sha256(value), bytes: 2_000 }],
      schema: 1,
      prev: null,
    })
    expect(Object.keys(JSON.parse(stored.metadata) as object)[0]).toBe('$blobs')
    expect(contents).toHaveLength(1)
    expect(isCut(stored)).toBe(true)
  })

  test.each(['{}', '{ }', '{ "a": [1] }', '{"a":"]"}'])(
    'keeps its metadata to the byte: %s',
    async (metadata) => {
      const whole = event(JSON.stringify(['x'.repeat(30), 'y'.repeat(30)]), metadata)
      expect((await thereAndBack(whole, 20)).back).toEqual(whole)
    },
  )

  test.each([
    ['no list', '{"$blobs":7,"schema":1}'],
    ['no hash', '{"$blobs":[{"at":1,"bytes":2,"sha256":"x"}]}'],
    ['nothing', '{"$blobs":'],
  ])('with references that are %s has none that can be read', (_, metadata) => {
    expect(referencesOf(event('{}', metadata))).toBeUndefined()
  })

  test.each([
    ['data that was changed before it', (data: string) => `{"a":1,${data.slice(1)}`],
    ['another placeholder', (data: string) => data.replace('sha256:', 'sha512:')],
  ])('is not put together where it is not as it was: %s', (_, change) => {
    const whole = event(JSON.stringify({ text: 'x'.repeat(50) }))
    const { event: stored } = cutLiterals(whole, literalsOver(whole.data, 40))
    const references = referencesOf(stored) ?? []
    const changed = { ...stored, data: change(stored.data) }
    expect(restoreLiterals(changed, references, () => ['x'])).toEqual({ _tag: 'Left', left: references[0] })
  })

  const strings = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({
      unit: fc.constantFrom('"', '\\', '\n', '\u0000', '\ud800', '\udc00', '😀', 'é', 'x'),
      maxLength: 60,
    }),
    fc.constantFrom('__proto__', `sha256:${sha256('x')}`, '{"$blobs":[]}', 'x'.repeat(70)),
  )
  /** JSON as anyone may write it: other escapes, blanks. */
  const texts = fc
    .tuple(
      fc.letrec((tie) => ({
        value: fc.oneof(
          { maxDepth: 4 },
          strings,
          fc.integer(),
          fc.constantFrom(null, true),
          fc.array(tie('value'), { maxLength: 4 }),
          fc.dictionary(strings, tie('value'), { maxKeys: 4 }),
        ),
      })).value,
      fc.constantFrom(undefined, 2),
      fc.boolean(),
    )
    .map(([value, indent, isEscaped]) => {
      const text = JSON.stringify(value, undefined, indent)
      return isEscaped ? text.replaceAll('é', String.raw`\u00e9`).replaceAll('x', String.raw`\u0078`) : text
    })

  test('comes back to the byte, whatever JSON it was, and nothing above the threshold stays in it', async () => {
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 75, max: 200 }), async (text, over) => {
        const data = JSON.stringify([text, 'long'.repeat(60)])
        for (const whole of [event(text), event(data)]) {
          const { stored, back } = await thereAndBack(whole, over)
          expect(back).toEqual(whole)
          expect(literalsOver(stored.data, over)).toEqual([])
        }
      }),
      { numRuns: runs(500) },
    )
  })

  test('comes back to the byte with everything taken out of it', async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        expect((await thereAndBack(event(text), 0)).back).toEqual(event(text))
      }),
      { numRuns: runs(500) },
    )
  })
})
