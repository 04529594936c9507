import { expect, test } from 'vitest'
import { hashOf } from '../../src/events/codec.ts'
import { turnsStreamOf } from '../../src/events/ids.ts'
import type { TurnFact } from '../../src/events/turn-events.ts'
import { turnLog } from '../../src/conversation/beside/turn-log.ts'
import { orThrow, run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'

const actor = { kind: 'agent' }
const begun: TurnFact = { type: 'TurnsBegun', data: { at: 0 } }
const started = (call: string): TurnFact => ({
  type: 'ToolStarted',
  data: { reply: 1, call, tool: 'read', effect: 'unsafe', at: 1 },
})
const two = () => {
  const store = memoryStore()
  return { store, one: turnLog(store, actor, 'c'), other: turnLog(store, actor, 'c') }
}

test('facts come back newest first, chained to each other, and the first event names the stream', async () => {
  const { store, one, other } = two()
  expect(await orThrow(run(one.end()))).toMatchObject({ revision: -1, begun: undefined })
  await orThrow(run(one.append([begun, started('a')], -1)))
  await orThrow(run(one.append([started('b')], 1)))
  const facts = []
  for await (const fact of other.newest()) facts.push(fact)
  expect(facts.map(({ type, revision }) => [type, revision])).toEqual([
    ['ToolStarted', 2],
    ['ToolStarted', 1],
    ['TurnsBegun', 0],
  ])
  expect(await orThrow(run(other.end()))).toMatchObject({ revision: 2, begun: facts[2]?.id })
  const stored = await orThrow(
    store.read({ stream: turnsStreamOf('c'), from: 0, direction: 'forwards', limit: 10 }),
  )
  expect(facts.map(({ metadata }) => metadata.prev).toReversed()).toEqual([
    null,
    ...stored.slice(0, 2).map(hashOf),
  ])
})

test('of two that write after the same event one is refused, and writes after it has looked again', async () => {
  const { one, other } = two()
  await orThrow(run(one.append([begun], -1)))
  expect(await orThrow(run(other.end()))).toMatchObject({ revision: 0 })
  await orThrow(run(one.append([started('a')], 0)))
  expect(await run(other.append([started('b')], 0))).toMatchObject({ left: { _tag: 'Conflict' } })
  const { revision, begun: id } = await orThrow(run(other.end()))
  expect(await orThrow(run(other.append([started('b')], revision)))).toMatchObject({ revision: 2, begun: id })
})

test('a fact costs one read of what is before it, and none if nothing is', async () => {
  const inner = memoryStore()
  let reads = 0
  const store: EventStore = {
    ...inner,
    read: (range) => {
      reads++
      return inner.read(range)
    },
  }
  await orThrow(run(turnLog(store, actor, 'c').append([begun, started('a')], -1)))
  expect(reads).toBe(0)
  const other = turnLog(store, actor, 'c')
  await orThrow(run(other.append([started('b')], 1)))
  expect(reads).toBe(1)
  const [first] = await orThrow(
    inner.read({ stream: turnsStreamOf('c'), from: 0, direction: 'forwards', limit: 1 }),
  )
  expect(await orThrow(run(other.end()))).toMatchObject({ revision: 2, begun: first?.id })
  expect(await run(turnLog(store, actor, 'c').append([begun], -1))).toMatchObject({
    left: { _tag: 'Conflict' },
  })
})
