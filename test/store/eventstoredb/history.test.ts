import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import type { Conversation, Store } from 'palimpsest'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { promiseStore } from '../../../src/api/promises.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { left, right } from '../../support/either.ts'
import { collect } from '../../support/eventstoredb/client.ts'
import { user } from '../../support/log.ts'
import { onlyOwn, type Place, somewhere } from '../../support/stores.ts'
import { write } from '../../support/write.ts'

const opened: { readonly close: () => Promise<unknown> }[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const { close } of opened.splice(0)) await close()
})
/** After how many milliseconds a writer looks again whether the database may drop events, and a little more. */
const freshness = 1_100
const port = async (place: Place): Promise<EventStore> => {
  const store = await place.open()
  opened.push({ close: store.close() })
  return store
}
const open = async (place: Place): Promise<Store> =>
  promiseStore(taskStore(storeOn(await port(place), { kind: 'program' })))
const clientOf = ({ url }: Place): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url)
  opened.push({ close: () => client.dispose() })
  return client
}
const say = (chat: Conversation, count: number): Promise<unknown> =>
  chat.append(
    Array.from({ length: count }, (_, n) => ({
      role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${n}`,
    })),
  )

describe("the database's own tools", () => {
  test('see a conversation as JSON events by name, with the correlation and causation ids that they know', async () => {
    const place = await somewhere()
    const chat = (await open(place)).conversation('c')
    await chat.append(
      { role: 'user', content: 'grüße 😀' },
      { correlationId: 'correlation', causationId: 'causation' },
    )
    await say(chat, 3)
    await chat.condense({ covers: { first: 1, last: 2 }, summary: 'Before.' })
    const all = await collect(clientOf(place).readStream(place.stream('conversation-c')))
    expect(all.map(({ event }) => [event?.type, event?.isJson])).toEqual([
      ...Array.from({ length: 4 }, () => ['MessageAppended', true]),
      ['Condensed', true],
    ])
    expect(all[0]?.event).toMatchObject({
      data: { role: 'user', content: [{ type: 'text', text: 'grüße 😀' }] },
      metadata: { $correlationId: 'correlation', $causationId: 'causation', schema: 1, prev: null },
    })
  })
})

describe('the effective history', () => {
  test.skipIf(onlyOwn !== '')(
    `is read by no more calls than its view has ranges, and two, all ranges at once, in order${onlyOwn}`,
    async () => {
      const place = await somewhere()
      const server = place.own ?? expect.fail('it counts the calls of the server')
      const writer = (await open(place)).conversation('c')
      await say(writer, 300)
      const segments = 13
      for (let n = 0; n < 6; n++)
        await writer.condense({ covers: { first: 40 * n + 2, last: 40 * n + 9 }, summary: `${n}` })
      // The last marker carries the view: six summaries, and the ranges between and around them.
      const before = await writer.effective()
      const inTurn = (await open(place)).conversation('c')
      server.forgetCalls()
      expect(await inTurn.effective()).toEqual(before)
      const reads = server.calls.length
      const { promise: allCame, resolve: comeAll } = Promise.withResolvers<void>()
      const reader = (await open(place)).conversation('c')
      server.forgetCalls()
      // No range is answered before all were asked for: whoever waits for one of them before asking for the next gets none.
      server.misbehave(() => {
        if (server.calls.length === reads) comeAll()
        return server.calls.length > 2 ? { kind: 'delay', until: allCame } : undefined
      })
      expect(await reader.effective()).toEqual(before)
      expect(before).toHaveLength(300 - 6 * 8 + 6)
      const positions = before.map(({ position }) => position)
      expect(positions.filter((position) => position < 300)).toEqual(
        positions.filter((position) => position < 300).toSorted((a, b) => a - b),
      )
      expect(server.calls.every(({ method }) => method === 'Read')).toBe(true)
      expect(server.calls.length).toBeLessThanOrEqual(2 + segments)
      expect(server.calls.length).toBeGreaterThan(2)
    },
  )
})

describe('what all streams are read for', () => {
  test('conversations and events are listed without the streams of others', async () => {
    const place = await somewhere()
    const client = clientOf(place)
    for (const stream of [place.stream('other'), 'conversations', 'blob-1'])
      await client.appendToStream(stream, jsonEvent({ type: 'Other', data: {} }))
    await client.setStreamMetadata(place.stream('other'), { maxCount: 5 })
    const store = await open(place)
    for (const id of ['b', 'a']) await say(store.conversation(id), 2)
    await store.conversation('b').fork('c', { at: 0 })
    const listed = await collect(store.conversations())
    // The database counts no messages.
    expect(listed.map(({ id, messages, events }) => [id, messages, events])).toEqual([
      ['c', undefined, 2],
      ['a', undefined, 2],
      ['b', undefined, 2],
    ])
    const all = await collect(store.readAll())
    expect(all.map(({ conversation, event }) => [conversation, event.position])).toEqual([
      ['b', 0],
      ['b', 1],
      ['a', 0],
      ['a', 1],
      ['c', 1],
    ])
    const rest = await collect(store.readAll({ after: all[2]?.checkpoint ?? '' }))
    expect(rest).toEqual(all.slice(3))
  })

  test.skipIf(onlyOwn !== '')(
    `a list and a verification take few reads for each conversation${onlyOwn}`,
    async () => {
      const place = await somewhere()
      const [store, writer] = [await open(place), await open(place)]
      const many = 120
      for (let n = 0; n < many; n++) await say(writer.conversation(`c-${n}`), 2)
      await writer.conversation('c-7').note({ kind: 'title', data: 'Seven' })
      const server = place.own ?? expect.fail()
      const readsOf = async (work: () => Promise<unknown>): Promise<number> => {
        server.forgetCalls()
        await work()
        return server.calls.filter(({ stream }) => /-c-\d+$/.test(stream ?? '')).length
      }
      let titles: readonly string[] = []
      const list = async (): Promise<void> => {
        titles = (await collect(store.conversations({ sort: 'activity' }))).map(({ title }) => title)
      }
      // One each, and some for the notes.
      expect(await readsOf(list)).toBeLessThan(many + 10)
      expect(titles).toHaveLength(many)
      expect(titles.filter((title) => title === 'Seven')).toHaveLength(1)
      expect(server.calls.length).toBeLessThan(many + 30)
      expect(await readsOf(list)).toBe(0)
      // The conversation; that nothing is beside it, the names of all streams tell, of which the newest are read.
      expect(await readsOf(() => store.conversation('c-3').verify())).toBe(1)
      expect(server.calls.length).toBeLessThan(3)
      expect(await readsOf(() => store.conversation('c-7').verify())).toBe(2)
      // Who does not know the names reads of four streams that they are not there, and were not deleted.
      expect(await readsOf(() => writer.conversation('c-3').verify())).toBe(9)
      await writer.conversation('c-3').note({ kind: 'title', data: 'Three' })
      await list()
      expect(titles).toContain('Three')
    },
  )

  test.each(['before', 'since'])(
    'a stream beside a conversation that was deleted is reported by who has read the names of all (%s that)',
    async (when) => {
      const place = await somewhere()
      const [store, writer] = [await open(place), await open(place)]
      for (const id of ['a', 'b', 'c']) await say(writer.conversation(id), 2)
      const lose = async (): Promise<void> => {
        await writer.conversation('b').note({ kind: 'title', data: 'B' })
        await clientOf(place).deleteStream(place.stream('notes-b'))
      }
      if (when === 'before') await lose()
      expect(await collect(store.conversations({ sort: 'id' }))).toHaveLength(3)
      if (when === 'since') await lose()
      const found = await Promise.allSettled(['a', 'b', 'c'].map((id) => store.conversation(id).verify()))
      const lost = { _tag: 'HistoryLost', stream: 'notes-b' }
      expect(found).toMatchObject([
        { value: { conversation: 'a', events: 2 } },
        { reason: lost },
        { value: { conversation: 'c', events: 2 } },
      ])
    },
  )

  test('more events than one read returns are all read', async () => {
    const place = await somewhere()
    const events = Array.from({ length: 2_100 }, (_, n) => user(`${n}`))
    await write(await port(place), 'c', events.slice(0, 2_000))
    const store = await open(place)
    expect(await collect(store.conversations())).toMatchObject([{ id: 'c', events: 2_000 }])
    await say(store.conversation('c'), 2)
    expect(await collect(store.conversations())).toMatchObject([{ id: 'c', events: 2_002 }])
    expect(await collect(store.readAll())).toHaveLength(2_002)
  })
})

describe('a conversation that the database has lost events of', () => {
  const hour = 3_600_000
  const later = (): void => {
    const then = Date.now() + hour
    vi.useFakeTimers({ toFake: ['Date'], now: then })
  }

  const losses: Readonly<
    Record<string, (client: EventStoreDBClient, stream: string, chat: Conversation) => Promise<unknown>>
  > = {
    'some by $maxCount': (client, stream) => client.setStreamMetadata(stream, { maxCount: 3 }),
    'some by $tb': (client, stream) => client.setStreamMetadata(stream, { truncateBefore: 2 }),
    'all by $tb': (client, stream) => client.setStreamMetadata(stream, { truncateBefore: 100 }),
    'some by $maxAge': async (client, stream, chat) => {
      later()
      await say(chat, 2)
      await client.setStreamMetadata(stream, { maxAge: 60 })
    },
    'all by $maxAge': async (client, stream) => {
      await client.setStreamMetadata(stream, { maxAge: 60 })
      later()
    },
    'all by a deletion': (client, stream) => client.deleteStream(stream),
    'all by a deletion, and then somebody wrote to it': async (client, stream, chat) => {
      await client.deleteStream(stream)
      await say(chat, 1)
    },
    'all by a tombstone': (client, stream) => client.tombstoneStream(stream),
  }

  /** What waits for the clock has one of its own: only the server in this process goes by it. */
  const possible = Object.entries(losses).filter(([name]) => onlyOwn === '' || !name.includes('$maxAge'))

  test.each(possible)('%s: whoever reads or writes it is told', async (_, lose) => {
    const place = await somewhere()
    const writer = await open(place)
    await say(writer.conversation('sound'), 2)
    await say(writer.conversation('c'), 5)
    await writer.conversation('c').condense({ covers: { first: 1, last: 2 }, summary: 'Before.' })
    await writer.conversation('c').fork('child')
    await lose(clientOf(place), place.stream('conversation-c'), writer.conversation('c'))

    const store = await open(place)
    const chat = store.conversation('c')
    const asked: Readonly<Record<string, () => Promise<unknown>>> = {
      effective: () => chat.effective(),
      'effective at': () => chat.effective({ at: 4 }),
      full: () => chat.full(),
      timeline: () => chat.timeline(),
      position: () => chat.position(),
      events: () => collect(chat.events()),
      stored: () => collect(chat.stored()),
      verify: () => chat.verify(),
      append: () => chat.append({ role: 'user', content: 'x' }),
      'append again': () => chat.append({ role: 'user', content: 'x' }, { commandId: 'x' }),
      fork: () => chat.fork('another'),
      'its fork': () => store.conversation('child').effective(),
      'the whole of its fork': () => store.conversation('child').full(),
    }
    const lost = { _tag: 'HistoryLost', stream: 'conversation-c' }
    for (const [name, ask] of Object.entries(asked))
      expect([name, await ask().catch((error: unknown) => error)]).toMatchObject([name, lost])
    expect(await collect(store.conversations())).toMatchObject([
      { id: 'child', problem: expect.stringContaining('has lost events') },
      { id: 'c', problem: expect.stringContaining('has lost events') },
      { id: 'sound', events: 2 },
    ])
    // Nobody is kept from the others.
    await say(store.conversation('sound'), 1)
    const sound = ['sound', 'sound', 'sound']
    const told: string[] = []
    const onUnreadable = (id: string, problem: string): void => void told.push(`${id}: ${problem}`)
    const read = await collect(store.readAll({ onUnreadable }))
    expect(read.map(({ conversation }) => conversation)).toEqual(sound)
    const followed: string[] = []
    for await (const each of store.follow({ onUnreadable })) {
      if (each.type === 'event') followed.push(each.conversation)
      if (followed.length === sound.length) break
    }
    expect(followed).toEqual(sound)
    // Each is told of each once, and of the fork that cannot be read without it.
    expect(told.toSorted()).toMatchObject(
      ['c', 'c', 'child', 'child'].map(
        (id) => expect.stringMatching(`^${id}: stream conversation-c has lost events`) as string,
      ),
    )
  })

  test('who remembers where it ends is told at the next append, once a second has passed; that append writes nothing', async () => {
    const place = await somewhere()
    const client = clientOf(place)
    const store = await open(place)
    const says = (id: string): Promise<unknown> =>
      say(store.conversation(id), 1).then(
        () => 'written',
        ({ _tag }: { readonly _tag: string }) => _tag,
      )
    const stream = (id: string): string => place.stream(`conversation-${id}`)
    const lose: Readonly<Record<string, () => Promise<unknown>>> = {
      sound: () => Promise.resolve(),
      repaired: () => client.setStreamMetadata(stream('repaired'), { maxCount: 1 }),
      harmless: () =>
        client.setStreamMetadata(stream('harmless'), { maxCount: 1_000_000, truncateBefore: 0 }),
      deleted: () => client.deleteStream(stream('deleted')),
      capped: () => client.setStreamMetadata(stream('capped'), { maxCount: 2 }),
      cut: () => client.setStreamMetadata(stream('cut'), { truncateBefore: 2 }),
      buried: () => client.tombstoneStream(stream('buried')),
    }
    const ids = Object.keys(lose)
    for (const id of ids) await say(store.conversation(id), 3)
    for (const act of Object.values(lose)) await act()
    const lost = ids.slice(3)
    await sleep(freshness)
    for (const id of [...lost, 'repaired', ...lost]) expect([id, await says(id)]).toEqual([id, 'HistoryLost'])
    // Who writes without a look finds what the server has been told to hide, and nothing more.
    for (const id of lost.filter((each) => each !== 'buried')) {
      const event = jsonEvent({ type: 'MessageAppended', data: {} })
      expect(await client.appendToStream(stream(id), event)).toMatchObject({ nextExpectedRevision: 3n })
    }
    // Nothing was scavenged yet.
    await client.setStreamMetadata(stream('repaired'), {})
    for (const id of ['sound', 'harmless', 'repaired']) {
      for (let n = 0; n < 3; n++) expect([id, await says(id)]).toEqual([id, 'written'])
      expect(await store.conversation(id).verify()).not.toHaveProperty('discrepancy')
    }
  })

  test.each(['$maxCount', 'deletion'])(
    'who was told at a read (%s) is told at the next append, too, which writes nothing',
    async (how) => {
      const place = await somewhere()
      const client = clientOf(place)
      const [store, stream] = [await port(place), place.stream('conversation-c')]
      await write(store, 'c', [user('0'), user('1'), user('2')])
      const event = { id: randomUUID(), type: 'MessageAppended', data: '{}', metadata: '{}' }
      right(await store.append({ stream: 'conversation-c', events: [event], expected: 2 })())
      await (how === 'deletion'
        ? client.deleteStream(stream)
        : client.setStreamMetadata(stream, { maxCount: 2 }))
      const range = { stream: 'conversation-c', from: 0, direction: 'forwards', limit: 9 } as const
      const lost = { _tag: 'HistoryLost', stream: 'conversation-c' }
      expect(left(await store.read(range)())).toMatchObject(lost)
      const next = { ...event, id: randomUUID() }
      const appended = await store.append({ stream: 'conversation-c', events: [next], expected: 3 })()
      expect(left(appended)).toMatchObject(lost)
      const another = jsonEvent({ type: 'MessageAppended', data: {} })
      expect(await client.appendToStream(stream, another)).toMatchObject({ nextExpectedRevision: 4n })
    },
  )

  test('who begins one that was deleted is told: the server continues its numbers', async () => {
    const place = await somewhere()
    const store = await port(place)
    const event = { id: randomUUID(), type: 'MessageAppended', data: '{}', metadata: '{}' }
    const append = (id: string) =>
      store.append({ stream: 'notes-c', events: [{ ...event, id }], expected: -1 })()
    right(await append(randomUUID()))
    await clientOf(place).deleteStream(place.stream('notes-c'))
    expect(left(await append(randomUUID()))).toMatchObject({ _tag: 'HistoryLost', stream: 'notes-c' })
  })

  test.each([
    ['$maxCount', { maxCount: 6 }],
    ['$maxAge', { maxAge: 60 }],
    ['$tb', { truncateBefore: 0 }],
  ])('none yet by its %s: it reads as any other', async (_, limits) => {
    const place = await somewhere()
    const client = clientOf(place)
    const writer = (await open(place)).conversation('c')
    // Also set before there is anything.
    await client.setStreamMetadata(place.stream('conversation-c'), limits)
    await say(writer, 5)
    await client.setStreamMetadata(place.stream('conversation-c'), limits)
    const store = await open(place)
    expect(await store.conversation('c').effective()).toHaveLength(5)
    await say(store.conversation('c'), 1)
    expect(await store.conversation('c').verify()).toEqual({ conversation: 'c', events: 6 })
    expect(await collect(store.conversations())).toMatchObject([{ id: 'c', events: 6 }])
  })
})
