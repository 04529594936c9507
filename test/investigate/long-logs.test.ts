import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { changeBetween } from '../../src/investigate/cause.ts'
import { historiesOf } from '../../src/investigate/histories.ts'
import { missingTerms, searchIn } from '../../src/investigate/missing-terms.ts'
import { nothingYet, createReplay } from '../../src/investigate/replayed-history.ts'
import { termsIn } from '../../src/investigate/terms.ts'
import { whyCall } from '../../src/investigate/why.ts'
import type { ConversationEvent } from '../../src/events/events.ts'
import { effective, type Effective } from '../../src/projections/effective.ts'
import { histories } from '../support/histories.ts'
import { assistant, blocksOf, logOf, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'

/** A history of which only the layout may be looked at. */
const withoutItems = ({ at, head, layout }: Effective): Effective => ({
  at,
  head,
  layout,
  get items(): never {
    throw new Error('nobody needs what was said')
  },
})

test('what changed between two calls is told by their layouts', () => {
  fc.assert(
    fc.property(histories(), fc.nat(), fc.nat(), (log, one, other) => {
      if (log.length === 0) return
      const [from, to] = [one % log.length, other % log.length].toSorted((a, b) => a - b) as [number, number]
      const [before, after] = [effective(log, from), effective(log, to)]
      // Of a layout without tools, the items tell if there were calls of them.
      if (before.layout.formerTools || after.layout.formerTools) return
      expect(changeBetween(log, withoutItems(before), withoutItems(after))).toEqual(
        changeBetween(log, before, after),
      )
    }),
    { numRuns: runs(100) },
  )
})

test('the items of a history are found when they are asked for, once', () => {
  const history = historiesOf(logOf(user('Hello.'), assistant('Hello.')))(1)
  expect(Object.getOwnPropertyDescriptor(history, 'items')).not.toHaveProperty('value')
  expect(history.items).toBe(history.items)
  expect(history.items).toHaveLength(2)
})

test('a history that is replayed is the same until something is added', () => {
  const [first, second] = logOf(user('One.'), assistant('Two.')) as [ConversationEvent, ConversationEvent]
  const replay = createReplay(nothingYet(() => undefined))
  replay.add(first)
  const now = replay.effectiveAt(0)
  expect(replay.effectiveAt(0)).toBe(now)
  replay.add(second)
  expect(now.items).toHaveLength(1)
  expect(replay.effectiveAt(1).items).toHaveLength(2)
})

test('why reads a long log a few times only', () => {
  const events = Array.from({ length: 300 }, (_, n) =>
    n % 2 === 0 ? user('Look.') : assistant('I looked.', { model: 'claude-opus-5-5' }),
  )
  let reads = 0
  const log = new Proxy(logOf(...events), {
    get: (target, name, receiver) => {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads++
      return Reflect.get(target, name, receiver) as unknown
    },
  })
  whyCall('c', log, undefined)
  expect(reads / events.length).toBeLessThan(15)
})

const names = fc.constantFrom(
  'src/a.ts',
  'src/ab.ts',
  'fn_one_x',
  'fn_one_xy',
  'ABC-12',
  'äöü.md',
  'x😀.ts',
  'made',
)

test('a term is needed exactly if no message that is shown has it anywhere', () => {
  fc.assert(
    fc.property(fc.array(fc.array(names)), fc.array(names), (shown, answered) => {
      const said = shown.map((words) => words.join(' '))
      const { items, layout } = effective(logOf(...said.map(user)))
      const answer = answered.join(' ')
      const search = { ...searchIn([]), hiddenWith: () => [{ position: 9 }] }
      const needed = missingTerms({ items, layout }, search, [
        { role: 'assistant', content: blocksOf(answer) },
      ])
      const missing = [...termsIn(answer)].filter((term) => !said.some((text) => text.includes(term)))
      expect(new Set(needed.map(({ term }) => term))).toEqual(
        new Set(missing.filter((term) => !missing.some((other) => other !== term && other.includes(term)))),
      )
    }),
    { numRuns: runs(200) },
  )
})
