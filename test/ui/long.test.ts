import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { placesOf } from '../../src/ui/blocks/find-matches.ts'
import { piecesOf, createPieceReader } from '../../src/ui/blocks/lot.ts'
import { type Path, readerAt } from '../../src/ui/blocks/reader-at.ts'
import { embeddedSource } from '../../src/ui/source/embedded.ts'
import { apiPathOf } from '../../src/server/client/api-path.ts'
import type { ApiSource } from '../../src/ui/source/source.ts'
import { logOf, user } from '../support/log.ts'
import { longText } from '../support/long.ts'

/** Every place in a value, with what is there. */
const placesIn = (whole: unknown): readonly (readonly [Path, unknown])[] => {
  const found: [Path, unknown][] = []
  const open: [Path, unknown][] = [[[], whole]]
  for (let next = open.pop(); next; next = open.pop()) {
    found.push(next)
    const [path, value] = next
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value))
      open.push([[...path, Array.isArray(value) ? Number(key) : key], inner])
  }
  return found
}
const cutAt = (text: string, cuts: readonly number[]): readonly string[] => {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length]
  return places.map((place, index) => text.slice(place, places[index + 1] ?? place))
}

const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\0', '😀', 'é', '{', ',', '\ud83d') })
const json = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.constantFrom(null, true, 0, -1.5e-7, 12),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value

describe('a value in JSON that comes in pieces', () => {
  test('is the one at its path, however the JSON is cut and indented', () => {
    fc.assert(
      fc.property(
        json,
        fc.array(fc.nat(), { maxLength: 8 }),
        fc.nat(),
        fc.constantFrom(0, 2),
        (whole, cuts, nth, indent) => {
          const all = placesIn(whole)
          const [path, value] = all[nth % all.length] ?? [[], whole]
          const reader = readerAt(path)
          const got = cutAt(JSON.stringify(whole, undefined, indent), cuts)
            .map(reader.take)
            .join('')
          if (typeof value === 'string') expect(got).toBe(value)
          else expect(JSON.parse(got)).toEqual(JSON.parse(JSON.stringify(value)))
          expect(reader.isString()).toBe(typeof value === 'string')
        },
      ),
    )
  })

  test('is given as it comes, and what comes after it is not read', () => {
    const reader = readerAt(['content', 1, 'text'])
    expect(reader.take('{"content":[{"text":"no"},{"text":"ye')).toBe('ye')
    expect(reader.take('s\\u00')).toBe('s')
    expect(reader.isDone()).toBe(false)
    expect(reader.take('e9"},{"text":"no')).toBe('é')
    expect(reader.isDone()).toBe(true)
    expect(reader.take('thing"}]}')).toBe('')
  })

  test('that is not there is empty', () => {
    const reader = readerAt(['b'])
    expect(reader.take('{"a":{"b":1},"c":["b"]}')).toBe('')
    expect([reader.isString(), reader.isDone()]).toEqual([undefined, false])
  })
})

/** A source that has these bytes, and counts what is asked of it. */
const counted = (source: ApiSource) => {
  const asked: number[] = []
  const bytes: ApiSource['bytes'] = async (path, part) => {
    const got = await source.bytes(path, part)
    asked.push(got.blob.size)
    return got
  }
  return { asked, source: { ...source, bytes } }
}

describe('a block of a file', () => {
  const whole = longText(60_000)
  const block = { type: 'tool_result', tool_use_id: 'toolu_1', content: whole }
  const file = {
    form: 2,
    conversation: 'a',
    events: logOf(user([block])),
    tokens: [0],
    answers: {},
    written: '',
  } as const
  const route = '/conversations/{id}/events/{position}/blocks/{index}'
  const path = apiPathOf(route, { id: 'a', position: 0, index: 0 }, { as: 'json' })

  test('is read a piece at a time, whatever its bytes are', async () => {
    const { asked, source } = counted(embeddedSource(file))
    const readOn = createPieceReader(source, path, ['content'], 10_001)
    let lot = await readOn()
    expect(asked).toEqual([10_001])
    expect(whole.startsWith(lot.text)).toBe(true)
    while (!lot.isWhole) {
      expect(lot.text.length).toBeLessThan(whole.length)
      lot = await readOn()
    }
    expect(lot.text).toBe(whole)
    expect(Math.max(...asked)).toBe(10_001)
  })

  test('is JSON where it is no text: indented if it comes in one piece', async () => {
    const once = await createPieceReader(embeddedSource(file), path, [])()
    expect(once).toEqual({ text: JSON.stringify(block, undefined, 2), isWhole: true })
    const readOn = createPieceReader(embeddedSource(file), path, [], 10_000)
    let lot = await readOn()
    while (!lot.isWhole) lot = await readOn()
    expect(lot.text).toBe(JSON.stringify(block))
  })

  test('is read on where it failed', async () => {
    const source = embeddedSource(file)
    let times = 0
    const bytes: ApiSource['bytes'] = (asked, part) =>
      times++ % 2 === 1 ? Promise.reject(new Error('cut off')) : source.bytes(asked, part)
    const readOn = createPieceReader({ ...source, bytes }, path, ['content'], 20_000)
    let lot = await readOn()
    for (let failures = 0; !lot.isWhole; failures++) {
      expect(failures).toBeLessThan(50)
      lot = await readOn().catch(() => lot)
    }
    expect(lot.text).toBe(whole)
  })
})

test('a text that is there is shown in pieces that part no character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 5 }), (given, length) => {
      for (let pieces = 1; pieces < 100; pieces++) {
        const lot = piecesOf(given, pieces, length)
        expect(given.startsWith(lot.text)).toBe(true)
        expect(lot.isWhole).toBe(lot.text === given)
        expect(lot.text.isWellFormed()).toBe(true)
        if (lot.isWhole) return
      }
      throw new Error('it does not end')
    }),
  )
})

describe('words', () => {
  test('are found wherever they are, whatever is special about them', () => {
    const odd = fc.string({
      unit: fc.constantFrom('a', 'A', '.', '*', '\\', '[', ']', '-', '/', '(', '|', '^', '$', '😀', ' '),
    })
    fc.assert(
      fc.property(
        odd,
        fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom('a', '.', '\\', '-', '[', '/', '😀') }),
        (given, words) => {
          let from = given.toLowerCase().indexOf(words.toLowerCase())
          const expected: { from: number; to: number }[] = []
          while (from >= 0) {
            expected.push({ from, to: from + words.length })
            from = given.toLowerCase().indexOf(words.toLowerCase(), from + words.length)
          }
          expect(placesOf(given, words)).toEqual(expected)
        },
      ),
    )
  })
  test('that are nowhere or everywhere are found quickly', () => {
    expect(placesOf('abc', '')).toEqual([])
    expect(placesOf('a'.repeat(5_000), 'a')).toHaveLength(1_000)
  })
})
