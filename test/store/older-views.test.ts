import { expect, it } from 'vitest'
import type { ConversationEvent, Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { fold, viewOf } from '../../src/projections/layout.ts'
import type { Log } from '../../src/projections/path.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { storeOn } from '../../src/api/open.ts'
import { right } from '../support/either.ts'
import { assistant, configured, logOf, toolResult, toolUse, truncated, user } from '../support/log.ts'
import { withoutSalts } from '../support/receipts.ts'
import { write } from '../support/write.ts'

/** A log whose last event is a marker with its view, which tells of former tools or, as older ones, does not. */
const logWith = (events: readonly Event[], isOlder: boolean): Log => {
  const log = logOf(...events)
  const { toolsFrom, ...older } = viewOf(fold(log).layout)
  expect(toolsFrom).toBeDefined()
  const view = isOlder ? older : { ...older, toolsFrom }
  return log.map((event, at) =>
    at < log.length - 1 ? event : ({ ...event, data: { ...event.data, view } } as ConversationEvent),
  )
}

const tools = configured({ tools: [{ name: 'run' }] })
const round = [assistant([toolUse('a')]), user([toolResult('a')]), user('And?')]

it.each<readonly [string, readonly Event[]]>([
  ['that are gone', [tools, user('m1'), ...round, configured({ system: 'A.' }), user('m6'), truncated(1, 1)]],
  ['that never were', [configured({ system: 'A.' }), user('m1'), ...round, truncated(1, 1)]],
])('a view from before views told of tools %s loads as if it did, and is right', async (_, events) => {
  for (const isOlder of [true, false]) {
    const store = memoryStore()
    const log = logWith(events, isOlder)
    await write(store, 'c', log)
    const chat = storeOn(store, { kind: 'test' }).conversation('c')
    expect(withoutSalts(right(await chat.context()()).layout)).toEqual(withoutSalts(effective(log).layout))
    expect(right(await chat.verify()())).not.toHaveProperty('discrepancy')
  }
})
