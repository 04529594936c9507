import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient } from '@eventstore/db-client'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../../src/events/codec.ts'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { collect, proposed } from '../../support/eventstoredb/client.ts'
import type { EventStoreDb } from '../../support/eventstoredb/server.ts'
import { user } from '../../support/log.ts'
import { patient, temporaryServer } from '../../support/stores.ts'
import { write } from '../../support/write.ts'

const impatient = '&defaultDeadline=1000&patience=4000'
const open = async ({ url }: Pick<EventStoreDb, 'url'>, settings: string = patient): Promise<EventStore> => {
  const store = right(await openEventStoreDb(url + settings)())
  atEnd(store.close())
  return store
}
const openBoth = async (
  options: Parameters<typeof temporaryServer>[0] = {},
  settings = patient,
): Promise<{ readonly server: EventStoreDb; readonly store: EventStore }> => {
  const server = await temporaryServer(options)
  return { server, store: await open(server, settings) }
}
const conversations = async ({ url }: Pick<EventStoreDb, 'url'>): Promise<Store> => {
  const store = await openStore(url + patient)
  atEnd(store.close)
  return store
}

const event = (): StoredEvent => ({ id: randomUUID(), type: 'MessageAppended', data: '{}', metadata: '{}' })
const begin = async (store: EventStore, id: string): Promise<void> =>
  void right(await store.append({ stream: `conversation-${id}`, events: [event()], expected: -1 })())
/** Begins a conversation as an earlier release does. */
const beginUnlisted = ({ preload }: EventStoreDb, id: string): void =>
  preload(`conversation-${id}`, proposed(1, 3))
const newest = async (store: EventStore, limit = 1_000, before?: string): Promise<readonly string[]> =>
  right(await store.newest(['conversation-'], before, limit)()).map((name) => name.slice(13))
const sorted = async (store: EventStore): Promise<readonly string[]> =>
  right(await store.streams('conversation-', '', 1_000)()).map((name) => name.slice(13))
const searches = ({ calls }: EventStoreDb): number => calls.filter(({ all }) => all).length

describe('what is there is known without a look at all events', () => {
  test('a page of names is read at once where a search takes for ever', async () => {
    const { server, store } = await openBoth({ scanSpeed: 10 })
    server.preload('other', proposed(2_000, 1))
    for (let n = 0; n < 60; n++) await begin(store, `${n}`)
    const reader = await open(server)
    server.forgetCalls()
    const expected = Array.from({ length: 60 }, (_, n) => `${59 - n}`)
    expect(await newest(reader, 50)).toEqual(expected.slice(0, 50))
    expect(searches(server)).toBe(0)
    expect(server.calls).toHaveLength(1)
    // Another reader knows a page's end by its name.
    expect(await newest(await open(server), 5, 'conversation-10')).toEqual(['9', '8', '7', '6', '5'])
  })

  test('what others begin meanwhile comes first, and what was read is not read again', async () => {
    const { server, store } = await openBoth()
    const other = await open(server)
    for (const id of ['a', 'b']) await begin(store, id)
    expect(await newest(store)).toEqual(['b', 'a'])
    await begin(other, 'c')
    server.forgetCalls()
    expect(await newest(store)).toEqual(['c', 'b', 'a'])
    expect(server.calls).toHaveLength(2)
  })

  test('an entry of a stream that never came is of none', async () => {
    const { server, store } = await openBoth({}, impatient)
    await begin(store, 'there')
    server.misbehave(({ method, stream }) =>
      method === 'BatchAppend' && stream === 'conversation-never' ? { kind: 'unavailable' } : undefined,
    )
    const outcome = await store.append({ stream: 'conversation-never', events: [event()], expected: -1 })()
    expect(outcome).toMatchObject({ left: { _tag: 'OutcomeUnknown' } })
    expect(await newest(store)).toEqual(['never', 'there'])
    server.misbehave(() => undefined)
    const listed = await collect((await conversations(server)).conversations())
    expect(listed.map(({ id }) => id)).toEqual(['there'])
  })

  test('the entry is there before the first event, whoever is stopped between the two', async () => {
    const { server, store } = await openBoth()
    const order: (string | undefined)[] = []
    server.misbehave(({ method, stream }) => {
      if (method === 'BatchAppend') order.push(stream)
      // The answer to the entry comes late: nothing else is sent meanwhile.
      return stream === 'palimpsest-streams' ? { kind: 'delay', ms: 50, written: true } : undefined
    })
    await begin(store, 'a')
    expect(order).toEqual(['palimpsest-streams', 'conversation-a'])
  })

  test('a stream that is there gets no other entry from who would begin it without a look', async () => {
    const { server } = await openBoth()
    const entries = (): number =>
      server.calls.filter(({ method, stream }) => method === 'BatchAppend' && stream === 'palimpsest-streams')
        .length
    const [one, two] = [await conversations(server), await conversations(server)]
    for (const id of ['a', 'b']) await one.conversation(id).append({ role: 'user', content: id })
    await one.conversation('a').note({ kind: 'title', data: 'A' })
    server.forgetCalls()
    await expect(two.conversation('b').fork('a')).rejects.toMatchObject({ _tag: 'ConversationExists' })
    expect(entries()).toBe(0)
    await two.conversation('b').fork('c')
    expect(entries()).toBe(1)
  })

  const never = async (store: EventStore, names: readonly string[]): Promise<readonly string[]> =>
    [...right((await store.neverBegun?.(names)()) ?? expect.fail())].toSorted()

  test('streams that were never begun are told by who has read all names, in one read for all who ask at once', async () => {
    const { server, store } = await openBoth()
    for (const id of ['a', 'b']) await begin(store, id)
    const reader = await open(server)
    const asked = ['conversation-a', 'notes-a', 'turns-a']
    expect(await never(reader, asked)).toEqual([])
    expect(await newest(reader, 1)).toEqual(['b'])
    expect(await never(reader, asked)).toEqual([])
    expect(await sorted(reader)).toEqual(['a', 'b'])
    server.forgetCalls()
    const all = await Promise.all(Array.from({ length: 5 }, () => never(reader, asked)))
    for (const each of all) expect(each).toEqual(['notes-a', 'turns-a'])
    expect(server.calls).toHaveLength(1)
    // Also of another writer, and just now.
    right(await store.append({ stream: 'notes-a', events: [event()], expected: -1 })())
    expect(await never(reader, asked)).toEqual(['turns-a'])
    expect(await sorted(reader)).toEqual(['a', 'b'])
  })

  const cuts: Readonly<
    Record<string, (server: EventStoreDb, client: EventStoreDBClient) => Promise<unknown>>
  > = {
    'a $maxCount': (_, client) => client.setStreamMetadata('palimpsest-streams', { maxCount: 1 }),
    'a deletion': (_, client) => client.deleteStream('palimpsest-streams'),
    'a deletion, after which it continued': async (server, client) => {
      await client.deleteStream('palimpsest-streams')
      await begin(await open(server), 'later')
    },
    'a conversation of an earlier release': (server) => Promise.resolve(beginUnlisted(server, 'earlier')),
  }
  test.each(Object.entries(cuts))('a list that is not whole tells none: %s', async (_, cut) => {
    const { server, store } = await openBoth()
    const client = EventStoreDBClient.connectionString(server.url)
    atEnd(() => client.dispose())
    for (const id of ['a', 'b', 'c']) await begin(store, id)
    const before = await open(server)
    await sorted(before)
    expect(await never(before, ['notes-a'])).toEqual(['notes-a'])
    await cut(server, client)
    const reader = await open(server)
    await sorted(reader)
    expect(await never(reader, ['notes-a'])).toEqual([])
    await sorted(before)
    await begin(store, 'another')
    expect(await never(before, ['conversation-another'])).toEqual([])
  })

  test('a writer that has just read that a stream is not there does not look again', async () => {
    const { server, store } = await openBoth()
    const range = { stream: 'conversation-a', from: 0, direction: 'forwards', limit: 1 } as const
    right(await store.read(range)())
    server.forgetCalls()
    await begin(store, 'a')
    const streams = server.calls.flatMap(({ method, stream }) => (method === 'Read' ? [stream] : []))
    expect(streams.filter((stream) => stream === 'conversation-a')).toHaveLength(1)
  })

  test('of many that begin streams at once all are listed, each once', async () => {
    const { server } = await openBoth()
    const writers = await Promise.all(Array.from({ length: 4 }, () => open(server)))
    const ids = Array.from({ length: 40 }, (_, n) => `${n}`)
    // Each stream by two of them, of which one has the conflict.
    const [one, two, ...others] = writers
    const pairs = [one, two, ...others].map((writer, n) => [writer, writers[(n + 1) % 4] ?? writer] as const)
    const appends = ids.flatMap((id, n) =>
      (pairs[n % 4] ?? []).map((writer) =>
        writer?.append({ stream: `conversation-${id}`, events: [event()], expected: -1 }),
      ),
    )
    await Promise.all(appends.map(async (append) => append?.()))
    expect((await newest(await open(server))).toSorted()).toEqual(ids.toSorted())
  })
})

describe('a database of an earlier release', () => {
  test('is looked through once; then its conversations are listed as any other', async () => {
    const { server } = await openBoth()
    server.preload('other', proposed(300, 1))
    for (let n = 0; n < 250; n++) beginUnlisted(server, `old-${n}`)
    const store = await open(server)
    await begin(store, 'new')
    const expected = ['new', ...Array.from({ length: 250 }, (_, n) => `old-${249 - n}`)]
    expect(await newest(store)).toEqual(expected)
    const another = await open(server)
    server.forgetCalls()
    expect(await newest(another)).toEqual(expected)
    expect(searches(server)).toBe(0)
  })

  test('may be looked through by several at once, each stopped at any moment, while others write', async () => {
    const { server, store: writer } = await openBoth()
    const ids = Array.from({ length: 900 }, (_, n) => `old-${n}`)
    for (const id of ids.slice(0, 600)) beginUnlisted(server, id)
    const [one, two, third] = [await open(server), await open(server), await open(server)]
    const looking = [one, two, third].map((store) => newest(store).catch(() => undefined))
    for (const id of ids.slice(600, 800)) beginUnlisted(server, id)
    await begin(writer, 'new')
    await Promise.race(looking)
    right(await one.close()())
    await Promise.all(looking)
    for (const id of ids.slice(800)) beginUnlisted(server, id)
    const all = await sorted(await open(server))
    expect(all).toEqual([...ids, 'new'].toSorted())
    // Nobody listed one twice.
    const listed = right(
      await writer.read({
        stream: 'palimpsest-streams-earlier',
        from: 0,
        direction: 'forwards',
        limit: 1_000,
      })(),
    )
    const names = listed.filter(({ type }) => type === 'StreamBegun').map(({ data }) => data.split('"')[3])
    expect(names).toHaveLength(new Set(names).size)
  })

  test('is looked through from where one was stopped', async () => {
    const { server } = await openBoth()
    for (let n = 0; n < 450; n++) beginUnlisted(server, `${n}`)
    const stopped = await open(server, impatient)
    const entries = (): number =>
      server.calls.filter(({ method, stream }) => method === 'BatchAppend' && stream?.endsWith('-earlier'))
        .length
    server.misbehave(({ stream }) =>
      entries() > 1 && stream?.endsWith('-earlier') ? { kind: 'silence' } : undefined,
    )
    const outcome = await stopped.newest(['conversation-'], undefined, 1_000)()
    expect(outcome).toMatchObject({ _tag: 'Left' })
    server.misbehave(() => undefined)
    server.forgetCalls()
    expect(await newest(await open(server))).toHaveLength(450)
    // The first page of three was there.
    expect(entries()).toBe(3)
  })

  test('to which a writer of that release keeps adding: a list of all names includes its new ones', async () => {
    const { server, store } = await openBoth()
    beginUnlisted(server, 'a')
    expect(await sorted(store)).toEqual(['a'])
    beginUnlisted(server, 'b')
    await begin(store, 'c')
    expect(await sorted(await open(server))).toEqual(['a', 'b', 'c'])
    expect((await newest(await open(server))).toSorted()).toEqual(['a', 'b', 'c'])
    expect((await newest(store)).toSorted()).toEqual(['a', 'b', 'c'])
  })

  test('is listed by who may not write to it', async () => {
    const { server, store } = await openBoth()
    for (const id of ['a', 'b']) beginUnlisted(server, id)
    server.misbehave(({ method }) => (method === 'BatchAppend' ? { kind: 'denied' } : undefined))
    expect(await newest(store)).toEqual(['b', 'a'])
    expect(await newest(store, 1)).toEqual(['b'])
  })
})

describe('gc', () => {
  const large = { role: 'user', content: 'x'.repeat(70_000) } as const
  const soon = async (): Promise<Date> => {
    await sleep(2)
    return new Date()
  }

  test('looks through all events only where something is not referred to by a stream that is listed', async () => {
    const { server } = await openBoth()
    server.preload('other', proposed(100, 1))
    const writer = await conversations(server)
    for (const id of ['a', 'b']) await writer.conversation(id).append(large)
    const before = { blobs: 1, unreferenced: [], removed: 0 }
    expect(await writer.gc({ olderThan: await soon() })).toMatchObject(before)
    const store = await conversations(server)
    server.forgetCalls()
    expect(await store.gc({ olderThan: await soon() })).toMatchObject(before)
    expect(searches(server)).toBe(0)
  })

  test('keeps what a conversation refers to that a writer of an earlier release has begun', async () => {
    const [source, { server, store: port }] = [await openBoth(), await openBoth()]
    await (await conversations(source.server)).conversation('a').append(large)
    const range = { stream: 'conversation-a', from: 0, direction: 'forwards', limit: 9 } as const
    const events = right(await source.store.read(range)())
    for await (const { sha256 } of source.store.blobs.list()) {
      const chunks: Uint8Array[] = []
      for await (const chunk of source.store.blobs.get(sha256)) chunks.push(chunk)
      right(await port.blobs.put(sha256, chunks)())
    }
    const store = await conversations(server)
    expect(await collect(store.conversations())).toEqual([])
    server.preload(
      'conversation-a',
      events.map(({ id, type, data, metadata }) => ({
        id,
        type,
        isJson: true,
        data: Buffer.from(data),
        metadata: Buffer.from(metadata),
      })),
    )
    expect(await store.gc({ olderThan: await soon() })).toMatchObject({
      blobs: 1,
      unreferenced: [],
      removed: 0,
    })
    expect(await store.conversation('a').effective()).toHaveLength(1)
  })
})

describe('a server that looks for something', () => {
  test('and is silent meanwhile is not a dead one', async () => {
    // Some 4.5 s, at 1.5 s for an attempt.
    const { server, store } = await openBoth({ scanSpeed: 2_000 }, '&defaultDeadline=1500&patience=20000')
    server.preload('other', proposed(9_000, 1))
    beginUnlisted(server, 'a')
    server.forgetCalls()
    expect(await newest(store)).toEqual(['a'])
    const pages = server.calls.filter(({ all }) => all)
    // The page, each time with a look for the end before; nothing was asked twice.
    expect(pages).toHaveLength(2)
  })

  test('and answers nobody is a dead one', async () => {
    const { server, store } = await openBoth({}, impatient)
    server.misbehave(({ method }) => (method === 'Read' ? { kind: 'silence' } : undefined))
    expect(await store.readAll({ limit: 10 })()).toMatchObject({ left: { _tag: 'StoreUnavailable' } })
  })
})

describe('a list of conversations', () => {
  test('asks at most twice for each, and again only for those that were written since', async () => {
    const { server, store: port } = await openBoth()
    for (let n = 0; n < 30; n++)
      await write(
        port,
        `${n}`,
        Array.from({ length: n + 1 }, (_, m) => user(`${m}`)),
      )
    const store = await conversations(server)
    server.forgetCalls()
    const before = await collect(store.conversations())
    expect(before.map(({ id, events }) => [id, events])).toEqual(
      Array.from({ length: 30 }, (_, n) => [`${29 - n}`, 30 - n]),
    )
    const reads = server.calls.filter(({ stream }) => stream?.startsWith('conversation-'))
    for (let n = 0; n < 30; n++)
      expect(reads.filter(({ stream }) => stream === `conversation-${n}`).length).toBeLessThanOrEqual(2)
    server.forgetCalls()
    expect(await collect(store.conversations())).toEqual(before)
    // What there is, and what was written since: to conversations, and beside them.
    expect(server.calls.length).toBeLessThanOrEqual(6)
    await store.conversation('7').append({ role: 'user', content: 'more' })
    server.forgetCalls()
    const after = await collect(store.conversations())
    expect(after.filter((overview, n) => overview.updated !== before[n]?.updated)).toMatchObject([
      { id: '7', events: 9 },
    ])
    const again = server.calls.flatMap(({ stream }) => (stream?.startsWith('conversation-') ? [stream] : []))
    expect(new Set(again)).toEqual(new Set(['conversation-7']))
  })

  test('reads the notes of those that have some, and of no other', async () => {
    const { server } = await openBoth()
    const writer = await conversations(server)
    for (let n = 0; n < 30; n++) await writer.conversation(`${n}`).append({ role: 'user', content: `${n}` })
    for (const id of ['3', '17']) await writer.conversation(id).note({ kind: 'title', data: `T${id}` })
    const titles = Array.from({ length: 30 }, (_, n) => (n === 3 || n === 17 ? `T${n}` : `${n}`))
    for (const [sort, order] of [
      ['newest', titles.toReversed()],
      ['id', titles.toSorted((a, b) => (a.replace('T', '') < b.replace('T', '') ? -1 : 1))],
    ] as const) {
      const store = await conversations(server)
      server.forgetCalls()
      expect((await collect(store.conversations({ sort }))).map(({ title }) => title)).toEqual(order)
      const read = server.calls.flatMap(({ stream }) => (stream?.startsWith('notes-') ? [stream] : []))
      expect(new Set(read)).toEqual(new Set(['notes-3', 'notes-17']))
    }
  })

  test('sees that one has lost events since it was listed', async () => {
    const { server } = await openBoth()
    const store = await conversations(server)
    for (const id of ['a', 'b']) await store.conversation(id).append({ role: 'user', content: id })
    expect(await collect(store.conversations())).not.toContainEqual({ problem: expect.anything() })
    server.preload('$$conversation-a', [
      {
        ...proposed(1, 0)[0],
        id: randomUUID(),
        type: '$metadata',
        isJson: true,
        data: Buffer.from('{"$tb":9}'),
        metadata: Buffer.alloc(0),
      },
    ])
    expect(await collect(store.conversations())).toMatchObject([
      { id: 'b', title: 'b' },
      { id: 'a', problem: expect.stringContaining('has lost events') },
    ])
  })
})
