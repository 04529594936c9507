import { expect, test } from 'vitest'
import { sightAt, stateAt, type Turning } from '../../src/catalogue/states.ts'
import { type Moment, type Weave, weaveIn } from '../../src/catalogue/weave.ts'

/** A conversation that is condensed again and again, each time the last three messages and the summary before; in the middle its first message, too. */
const condensedOften = (times: number) => {
  let looks = 0
  const moments = new Proxy<Moment[]>([], {
    get: (own, name, self): unknown => {
      if (typeof name === 'string' && /^\d+$/.test(name)) looks++
      return Reflect.get(own, name, self)
    },
  })
  const weave: Weave = { offset: 0, parent: undefined, moments }
  const turnings: Turning[] = []
  const add = (kind: 'u' | 'C', first = -1, last = -1): void => {
    const position = moments.length
    weaveIn(weave, { position, kind, own: 1, tools: [], ...(kind === 'C' && { covers: { first, last } }) })
    if (kind === 'C') turnings.push({ position, kind, target: -1 })
  }
  add('u')
  for (let time = 0; time < times; time++) {
    const summary = moments.length - 1
    for (let message = 0; message < 3; message++) add('u')
    add('C', time === 0 ? 1 : time === times / 2 ? 0 : summary, summary + 3)
  }
  const end = moments.length - 1
  looks = 0
  const state = (entry: number) => stateAt(weave, entry, end, () => sightAt(turnings, end))
  return { state, looked: () => looks }
}

test('what hid an entry is found in few steps, however often the conversation was condensed', () => {
  const { state, looked } = condensedOften(4_096)
  expect(state(0)).toEqual({ state: 'hidden', by: 4 * 2_049 })
  expect(state(1)).toEqual({ state: 'hidden', by: 4 })
  expect(state(8_001)).toEqual({ state: 'hidden', by: 8_004 })
  expect(looked()).toBeLessThan(60)
})
