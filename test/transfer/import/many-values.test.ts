import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import * as E from 'fp-ts/lib/Either.js'
import { parseJson, valuesOf } from '../../../src/transfer/formats/source.ts'
import { recogniseLine } from '../../../src/transfer/formats/recognise.ts'

afterEach(() => void vi.restoreAllMocks())

/** One value after the other, each found by the parser's complaint about what comes after it. */
const oneByOne = (text: string): ReturnType<typeof valuesOf> => {
  const values: unknown[] = []
  for (let rest = text; ;) {
    const parsed = parseJson(rest)
    if (E.isRight(parsed)) return { values: [...values, parsed.right], rest: '' }
    const end = /after JSON at position (\d+)/.exec(parsed.left)?.[1]
    const value = end === undefined ? E.left('') : parseJson(rest.slice(0, Number(end)))
    if (E.isLeft(value)) return { values, problem: parsed.left, rest }
    values.push(value.right)
    rest = rest.slice(Number(end))
  }
}

const json = fc.json({ maxDepth: 3 })
const piece = fc.oneof(
  { weight: 4, arbitrary: json },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{"a":', '"open', '[1,', '}', ']', '\\', '{"b":"\\"}', 'nul', ',', '-'),
  },
  { weight: 1, arbitrary: fc.string() },
)
const texts = fc
  .array(fc.tuple(piece, fc.constantFrom('', ' ', '\t ')), { minLength: 1, maxLength: 12 })
  .map((pieces) => pieces.flat().join(''))

test('the values of a line are those that are found one by one, with the same complaint about the rest', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(valuesOf(text)).toEqual(oneByOne(text))
    }),
  )
})

test.each([
  '""',
  '"" ',
  '{}',
  '[]',
  '1 ',
  '"a" {"b":[1]} ',
  '"\\\\" ',
  '{"a":"\\""}',
  'null[]',
  '"" x',
  '{"a":1},',
])('a line of many times %j is parsed a few times, not once for each value', (part) => {
  const text = part.repeat(20_000)
  const parse = vi.spyOn(JSON, 'parse')
  recogniseLine(text)
  const parsed = parse.mock.calls.reduce((sum, [given]) => sum + given.length, 0)
  expect(parsed).toBeLessThan(4 * text.length)
})
