import { expect, test } from 'vitest'
import { period, secondsIn, timeBefore } from '../../src/cli/durations.ts'

test.each([
  ['30', 30],
  ['90s', 90],
  ['10min', 600],
  ['2h', 7_200],
  ['1d', 86_400],
])('the time limit %s is %i seconds', (text, seconds) => {
  expect(secondsIn(text)).toBe(seconds)
})

test.each(['0', '-1', '1.5', '5m', '1mo', '1y', 's', ''])('%j is no time limit', (text) => {
  expect(() => secondsIn(text)).toThrow(/a bare number means seconds/)
})

test.each([
  ['12mo', { months: 12 }],
  ['2y', { months: 24 }],
  ['400d', { days: 400 }],
  ['52w', { days: 364 }],
  ['48h', { days: 2 }],
])('the period %s is %j', (text, expected) => {
  expect(period(text)).toEqual(expected)
})

test.each(['0d', '5h', '12', '12m'])('%j is no period', (text) => {
  expect(() => period(text)).toThrow(/whole days/)
})

test('a month before the 31st of March is the end of February', () => {
  expect(timeBefore('1mo', new Date('2026-03-31T00:00:00Z'))).toEqual(new Date('2026-02-28T00:00:00Z'))
})
