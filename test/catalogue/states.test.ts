import { expect, test } from 'vitest'
import { type Mark, stateAt, turningsOf } from '../../src/catalogue/states.ts'

test('what hid an entry is found, however many summaries of summaries came after it', () => {
  const times = 4_096
  const marks: Mark[] = []
  for (let time = 0; time < times; time++) {
    const summary = 4 * time
    // The last three messages and the summary before; in the middle the first message, too.
    const first = time === 0 ? 1 : time === times / 2 ? 0 : summary
    marks.push({ position: summary + 4, kind: 'C', target: -1, covers: { first, last: summary + 3 } })
  }
  const state = (entry: number) => stateAt(turningsOf(marks), entry, 4 * times)
  expect(state(0)).toEqual({ state: 'hidden', by: 4 * 2_049 })
  expect(state(1)).toEqual({ state: 'hidden', by: 4 })
  expect(state(8_001)).toEqual({ state: 'hidden', by: 8_004 })
  expect(state(4 * times)).toEqual({ state: 'shown' })
})
