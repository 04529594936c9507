import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { beginsEscape, piecesOf } from '../../src/events/pieces.ts'
import { runs } from '../support/runs.ts'

const value = fc
  .array(fc.constantFrom('a', '"', '\\', '\n', '\u0001', '\u{1F600}', 'é', 'u'), { maxLength: 40 })
  .map((units) => units.join(''))

describe('the pieces of what stands between the quotes of a string', () => {
  test('are the whole in order, each a string of its own, and as long as they may be', () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 6, max: 20 }), (text, size) => {
        const inner = JSON.stringify(text).slice(1, -1)
        const pieces = [...piecesOf(inner, size)]
        expect(pieces.join('')).toBe(inner)
        expect(pieces.map((piece) => String(JSON.parse(`"${piece}"`))).join('')).toBe(text)
        for (const [index, piece] of pieces.entries()) {
          expect(piece.isWellFormed()).toBe(true)
          expect(piece.length).toBeLessThanOrEqual(size)
          if (index < pieces.length - 1) expect(piece.length).toBeGreaterThan(size - 6)
        }
      }),
      { numRuns: runs(2_000) },
    )
  })

  test.each([
    ['none', '', 6, []],
    ['one that just fits', 'abcdef', 6, ['abcdef']],
    ['one more', 'abcdefg', 6, ['abcdef', 'g']],
    ['an escape at the end', String.raw`abcde\n`, 6, ['abcde', String.raw`\n`]],
    ['an escape that ends there', String.raw`abcd\nx`, 6, [String.raw`abcd\n`, 'x']],
    ['a backslash that is escaped', String.raw`abcd\\n`, 6, [String.raw`abcd\\`, 'n']],
    ['a long escape', String.raw`ab\u0001x`, 7, [String.raw`ab`, String.raw`\u0001x`]],
    ['a long escape that ends there', String.raw`\u0001x`, 6, [String.raw`\u0001`, 'x']],
    ['a pair', 'abcde\u{1F600}', 6, ['abcde', '\u{1F600}']],
    ['a pair that ends there', 'abcd\u{1F600}x', 6, ['abcd\u{1F600}', 'x']],
  ] as const)('%s', (_, text, size, pieces) => {
    expect([...piecesOf(text, size)]).toEqual(pieces)
  })
})

test('a backslash begins an escape unless another one escapes it', () => {
  const text = String.raw`a\\\n`
  expect([1, 2, 3].map((at) => beginsEscape(text, 0, at))).toEqual([true, false, true])
  // Who begins behind the first sees another run.
  expect(beginsEscape(text, 2, 2)).toBe(true)
})
