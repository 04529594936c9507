import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isoTimeOf } from '../../src/conversation/writing/encode.ts'

test('a time is written as Date writes it, whichever was written before', () => {
  const times = fc.array(
    fc.oneof(
      fc.date({ noInvalidDate: true }),
      fc.integer({ min: -70_000, max: 70_000 }).map((ms) => new Date(ms)),
    ),
  )
  fc.assert(
    fc.property(times, (dates) => {
      expect(dates.map(isoTimeOf)).toEqual(dates.map((date) => date.toISOString()))
    }),
  )
})

test('what is no time is refused as Date refuses it', () => {
  expect(() => isoTimeOf(new Date(Number.NaN))).toThrow(RangeError)
})
