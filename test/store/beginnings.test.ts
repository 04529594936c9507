import { join } from 'node:path'
import { type ConversationInfo, openStore, type Store } from 'palimpsest'
import { expect, test } from 'vitest'
import { promiseStore } from '../../src/api/promises.ts'
import { storeOn, taskStore } from '../../src/api/open.ts'
import { streamOf } from '../../src/events/ids.ts'
import type { EventStore } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { layeredStore } from '../../src/store/whole/layered-store.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { temporaryFolder } from '../support/stores.ts'

const said = (n: number, content = `Message ${n}`) =>
  ({ role: n % 2 === 0 ? 'user' : 'assistant', content }) as const
const several = (count: number) => Array.from({ length: count }, (_, n) => said(n))
const talk = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, { kind: 'test' })))

/** A SQLite file with conversations of every kind, and its adapter. */
const filled = async (): Promise<EventStore> => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const store = await openStore(url)
  const conversation = store.conversation
  await conversation('short').append(several(3))
  await conversation('of-19').append(several(19))
  await conversation('of-20').append(several(20))
  await conversation('of-30').append(several(30))
  await conversation('long-text').append([said(0), said(1, 'x'.repeat(5_000))])
  await conversation('outside').append([said(0, 'y'.repeat(100_000)), said(1)])
  await conversation('edited').append(several(8))
  await conversation('edited').condense({ summary: 'Eight messages.' })
  await conversation('edited').rewind({ to: 2 })
  const fork = await conversation('edited').fork('fork')
  await fork.append(said(0))
  await fork.fork('fork-of-fork', { at: 1 })
  await conversation('titled').append(several(2))
  await conversation('titled').note({ kind: 'title', data: 'A title' })
  await store.close()
  const adapter = right(await openSqlite(url)())
  atEnd(async () => right(await adapter.close()()))
  return adapter
}

test('a list says the same of conversations whose beginnings were read together as of those read one by one', async () => {
  const adapter = await filled()
  const listOf = async (events: EventStore): Promise<readonly ConversationInfo[]> => {
    const infos: ConversationInfo[] = []
    for await (const info of talk(events).conversations()) infos.push(info)
    return infos
  }
  const { beginnings: _, ...oneByOne } = adapter
  const expected = await listOf(oneByOne)
  expect(expected).toHaveLength(10)
  expect(await listOf(adapter)).toEqual(expected)
})

test('the first events of several streams are those that each stream begins with; streams that take longer are omitted', async () => {
  const events = layeredStore(await filled(), 65_536)
  const names = ['long-text', 'of-30', 'missing', 'outside', 'short'].map(streamOf)
  const found = right((await events.beginnings?.(names, 20)()) ?? expect.fail())
  expect([...found.keys()]).toEqual([streamOf('of-30'), streamOf('short')])
  for (const [stream, begun] of found)
    expect(begun).toEqual(right(await events.read({ stream, from: 0, direction: 'forwards', limit: 20 })()))
})
