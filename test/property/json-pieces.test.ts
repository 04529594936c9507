import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonPieces } from '../../src/transfer/formats/json-pieces.ts'
import { runs } from '../support/runs.ts'

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue(),
    fc.constant(undefined),
    fc.date({ noInvalidDate: true }),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value')),
    fc.dictionary(fc.string(), tie('value')),
  ),
})).value

test('pieces of JSON are together what JSON.stringify writes', () => {
  fc.assert(
    fc.property(json, fc.boolean(), fc.nat(6), (value, isPretty, depth) => {
      fc.pre(value !== undefined)
      const whole = JSON.stringify(value, undefined, isPretty ? 2 : undefined)
      expect([...jsonPieces(value, isPretty, depth)].join('')).toBe(whole)
    }),
    { numRuns: runs(1_200) },
  )
})

test('a long array comes in pieces of its elements', () => {
  const items = Array.from({ length: 20 }, (_, n) => ({ n, text: 'x'.repeat(40_000) }))
  const pieces = [...jsonPieces({ items }, true)]
  expect(pieces.length).toBeGreaterThan(9)
  expect(pieces.join('')).toBe(JSON.stringify({ items }, undefined, 2))
})
