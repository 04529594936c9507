import { expect, test } from 'vitest'
import { isOutcomeOf, outcomesIn } from '../../src/ui/conversation/outcomes.ts'
import type { HistoryRow } from '../../src/ui/conversation/rows.ts'

const row = (position: number, role: 'user' | 'assistant', content: readonly object[]): HistoryRow =>
  ({ kind: 'same', position, item: { kind: 'message', position, role, content } }) as unknown as HistoryRow
const called = (id: string) => ({ type: 'tool_use', id, name: 'grep', input: {} })
const answered = (id: string, isError = false) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'x',
  ...(isError && { is_error: true }),
})

test('A call is linked to its result, and a result right after its calls belongs to them', () => {
  const calls = row(1, 'assistant', [called('a'), called('b')])
  const own = row(2, 'user', [answered('b', true)])
  const later = row(3, 'user', [answered('a')])
  const said = row(4, 'user', [answered('a'), { type: 'text', text: 'And more.' }])
  expect([...outcomesIn([calls, own, later])]).toEqual([
    ['a', { call: 1, result: 3, isError: false }],
    ['b', { call: 1, result: 2, isError: true }],
  ])
  expect([own, later, said].map((one) => isOutcomeOf(calls, one))).toEqual([true, true, false])
  expect(isOutcomeOf(own, later)).toBe(false)
  expect(isOutcomeOf(undefined, own)).toBe(false)
})
