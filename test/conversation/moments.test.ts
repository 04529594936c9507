import { expect, test } from 'vitest'
import { type HistoryState, momentsOf } from '../../src/conversation/reading/moments.ts'
import { effective } from '../../src/projections/effective.ts'
import { logOf, user } from '../support/log.ts'

const momentOf = (messages: number, length: number): HistoryState => ({
  effective: effective(logOf(...Array.from({ length: messages }, () => user('x'.repeat(length))))),
  sinceView: messages,
  replaced: new Map(),
})

test('the moments of the conversations that were used last are remembered, up to a size', () => {
  const moments = momentsOf(12_000)
  for (const id of ['a', 'b', 'c']) moments.keep(id, momentOf(1, 2_000))
  moments.keep('a', momentOf(2, 2_000))
  expect(['a', 'b', 'c'].map((id) => moments.at(id, 0) !== undefined)).toEqual([true, false, true])
  expect(moments.at('a', 1)).toBeDefined()
})

test('a moment that is larger than all may be together is not remembered, and pushes nothing out', () => {
  const moments = momentsOf(12_000)
  moments.keep('a', momentOf(1, 100))
  moments.keep('b', momentOf(1, 20_000))
  for (const _ of moments.keeping('b', momentOf(1, 20_000)));
  expect(['a', 'b'].map((id) => moments.at(id, 0) !== undefined)).toEqual([true, false])
})

test('of one conversation the last four moments are remembered', () => {
  const moments = momentsOf()
  for (let n = 1; n <= 6; n++) moments.keep('a', momentOf(n, 10))
  expect([0, 1, 2, 3, 4, 5].filter((head) => moments.at('a', head))).toEqual([2, 3, 4, 5])
  moments.forget('a')
  expect(moments.at('a', 5)).toBeUndefined()
})
