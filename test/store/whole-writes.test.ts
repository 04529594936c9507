import { randomUUID } from 'node:crypto'
import { run } from '../../src/result/fallible.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { palimpsestLine } from '../../src/transfer/formats/write-palimpsest.ts'
import { promiseStore } from '../../src/api/promises.ts'
import { copyBetween } from '../../src/transfer/copy.ts'
import { layeredStore } from '../../src/store/whole/layered-store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { openEventStoreDb } from '../../src/store/eventstoredb/store.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { storeClosed } from '../../src/store/errors.ts'
import type { EventStore } from '../../src/store/port.ts'
import { storeOn, taskStore } from '../../src/api/open.ts'
import type { PlacedEvent } from '../../src/conversation/reading/stored-events.ts'
import { left, right } from '../support/either.ts'
import { namespaced } from '../support/namespaced.ts'
import { ended, start } from '../support/node.ts'
import { runs, some } from '../support/runs.ts'
import { patient, temporaryFolder, temporaryServer } from '../support/stores.ts'

/** A store that takes so little at once that a few messages are several appends. */
const narrow = (store: EventStore): EventStore => ({ ...store, maxAppendBytes: 4_000 })
const talk = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, { kind: 'test' })))

/** Stores whose process ends at the `n`-th append: right before it, or when it is done and not yet acknowledged. */
const dying = (store: EventStore, n: number, isWritten: boolean): EventStore => {
  let appends = 0
  return {
    ...store,
    append: (request) => async () => {
      if (++appends < n) return store.append(request)()
      if (appends === n && isWritten) await store.append(request)()
      return E.left(storeClosed(store.url))
    },
  }
}
const counting = (store: EventStore): { readonly store: EventStore; readonly appends: () => number } => {
  let appends = 0
  const append: EventStore['append'] = (request) => () => {
    appends++
    return store.append(request)()
  }
  return { store: { ...store, append }, appends: () => appends }
}

const all = async <A>(items: AsyncIterable<A>): Promise<readonly A[]> => {
  const list: A[] = []
  for await (const item of items) list.push(item)
  return list
}
const eventsOf = async (store: Store, id: string): Promise<readonly PlacedEvent[]> =>
  all(store.conversation(id).stored())
const idsIn = async (store: Store): Promise<readonly string[]> =>
  (await all(store.conversations())).map(({ id }) => id)
/** Salts, and the hashes that depend on them: another import of the same file has others. */
const drawn = /"(salt|prev|hash)":"[\w-]+"/g
const contents = async (store: Store): Promise<unknown> => {
  const streams = await Promise.all((await idsIn(store)).map((id) => eventsOf(store, id)))
  return streams.map((events) =>
    events.map(({ data, metadata, ...event }) => ({
      ...event,
      data: data.replaceAll(drawn, ''),
      metadata: metadata.replaceAll(drawn, ''),
    })),
  )
}

/** Everything after a checkpoint, a few events at a time, each time from the checkpoint of the last one. */
const readOn = async (
  store: Store,
  after?: string,
): Promise<{ readonly seen: readonly string[]; readonly checkpoint: string | undefined }> => {
  const seen: string[] = []
  for (let checkpoint = after; ;) {
    const before = seen.length
    for await (const { conversation, event, ...streamed } of store.readAll(
      checkpoint === undefined ? {} : { after: checkpoint },
    )) {
      seen.push(`${conversation} ${event.position}`)
      checkpoint = streamed.checkpoint
      if (seen.length === before + 4) break
    }
    if (seen.length === before) return { seen, checkpoint }
  }
}

const talkOf = async (chat: ReturnType<Store['conversation']>, turns: number): Promise<void> => {
  for (let n = 0; n < turns; n++)
    await chat.append({ role: n % 2 === 0 ? 'user' : 'assistant', content: `${n} ${'word '.repeat(60)}` })
}
/** A session file of one conversation, or of several of which two are forks. */
const exported = async (ids: readonly string[]): Promise<string> => {
  const store = talk(memoryStore())
  const a = store.conversation('a')
  await talkOf(a, 9)
  await talkOf(await a.fork('b', { at: 4 }), 7)
  await talkOf(await a.fork('c'), 1)
  await talkOf(store.conversation('d'), 6)
  const lines: string[] = []
  for (const id of ids)
    for (const event of await eventsOf(store, id))
      if (event.conversation === id) lines.push(`${palimpsestLine(event)}\n`)
  return lines.join('')
}
const one = await exported(['a'])
const several = await exported(['a', 'b', 'c', 'd'])
const claudeCode = readFileSync(new URL('../../examples/sessions/claude-code.jsonl', import.meta.url), 'utf8')

const kinds: Readonly<Record<string, () => Promise<() => Promise<EventStore>>>> = {
  memory: async () => async () => narrow(memoryStore()),
  sqlite: async () => async () =>
    narrow(right(await openSqlite(`sqlite:${join(temporaryFolder(), 's.db')}?synchronous=off`)())),
  eventstoredb: async () => {
    const { url } = await temporaryServer()
    return async () => narrow(namespaced(right(await openEventStoreDb(url + patient)()), `${randomUUID()}-`))
  },
}

describe.each(Object.keys(kinds))('on %s', (kind) => {
  test.each([
    ['one conversation', one],
    ['several conversations, two of them forks', several],
    ['a session of another program', claudeCode],
  ])(
    'an import of %s that ends at any append shows nothing, or all of it; again, it is as if it had never ended',
    async (_, text) => {
      const open = await (kinds[kind] as () => Promise<() => Promise<EventStore>>)()
      const session = { text, file: 'session.jsonl' }
      const counted = counting(await open())
      await talk(counted.store).importSession(session)
      const whole = talk(counted.store)
      const appends = counted.appends()
      expect(appends).toBeGreaterThan(2)
      const ids = await idsIn(whole)
      const wanted = await contents(whole)
      const everything = (await readOn(whole)).seen.toSorted()
      const each = Array.from({ length: appends }, (__, index) => index + 1)
      // What happens is decided above the stores; the slower ones need not show all of it: a third, every second one written.
      const third = each.filter((n) => n % 3 === 1 || n === appends)
      for (const n of kind === 'memory' ? each : some(third)) {
        const isWritten = n % 2 === 0 || n === appends
        const adapter = await open()
        await expect(talk(dying(adapter, n, isWritten)).importSession(session)).rejects.toBeDefined()
        const store = talk(adapter)
        const isWhole = n === appends && isWritten
        expect(await idsIn(store)).toEqual(isWhole ? ids : [])
        const before = await readOn(store)
        if (!isWhole) {
          expect(before.seen).toEqual([])
          for (const id of ids) {
            const chat = store.conversation(id)
            const gone = { _tag: 'ConversationNotFound' }
            await expect(chat.effective()).rejects.toMatchObject(gone)
            await expect(chat.full()).rejects.toMatchObject(gone)
            await expect(chat.verify()).rejects.toMatchObject(gone)
            await expect(eventsOf(store, id)).rejects.toMatchObject(gone)
          }
        }
        await store.importSession(session)
        expect(await contents(store)).toEqual(wanted)
        for (const id of ids) expect(await store.conversation(id).verify()).not.toHaveProperty('discrepancy')
        const after = await readOn(store, before.checkpoint)
        expect([...before.seen, ...after.seen].toSorted()).toEqual(everything)
        await store.close()
      }
      await whole.close()
    },
  )
})

const log = talk(memoryStore())
await talkOf(log.conversation('a'), 40)
const lines = (await eventsOf(log, 'a')).map((event) => `${palimpsestLine(event)}\n`)
/** A session file that grows. */
const grown = (turns: number): string => lines.slice(0, turns).join('')

describe('a conversation that an interrupted import has begun to grow', () => {
  const [short, long] = [8, 30]
  const interrupted = async (): Promise<{ readonly adapter: EventStore; readonly store: Store }> => {
    const adapter = narrow(memoryStore())
    await talk(adapter).importSession({ text: grown(short), file: 'a.jsonl' })
    const again = talk(dying(adapter, 3, true)).importSession({ text: grown(long), file: 'a.jsonl' })
    await expect(again).rejects.toBeDefined()
    return { adapter, store: talk(adapter) }
  }

  test('is what it was before, and may be forked', async () => {
    const { store } = await interrupted()
    const chat = store.conversation('a')
    expect(await chat.position()).toBe(short - 1)
    expect(await chat.effective()).toHaveLength(short)
    expect(await chat.effective({ at: 2 })).toHaveLength(3)
    await expect(chat.effective({ at: short })).rejects.toMatchObject({ _tag: 'OutOfRange', last: short - 1 })
    expect(await chat.verify()).toEqual({ conversation: 'a', events: short })
    expect(await all(store.conversations())).toMatchObject([{ id: 'a', events: short, messages: short }])
    expect(await eventsOf(store, 'a')).toHaveLength(short)
    const fork = await chat.fork('fork')
    await fork.append({ role: 'user', content: 'on' })
    expect(await fork.effective()).toHaveLength(short + 1)
  })

  test('takes no other event until the import is completed, then all at once', async () => {
    const { store } = await interrupted()
    const chat = store.conversation('a')
    const message = { role: 'user', content: 'me too' } as const
    await expect(chat.append(message)).rejects.toMatchObject({ _tag: 'ImportUnfinished', conversation: 'a' })
    const stop = new AbortController()
    const seen: number[] = []
    const following = (async () => {
      for await (const { position } of chat.events({ from: short - 2, follow: true, signal: stop.signal })) {
        seen.push(position)
        if (position === long) stop.abort()
      }
    })()
    await store.importSession({ text: grown(long), file: 'a.jsonl' })
    expect(await chat.append(message)).toMatchObject({ position: long })
    await following
    expect(seen).toEqual(Array.from({ length: long - short + 3 }, (_, n) => short - 2 + n))
    expect(await chat.verify()).toEqual({ conversation: 'a', events: long + 1 })
  })

  test('is not completed by a file that holds less', async () => {
    const { store } = await interrupted()
    const less = store.importSession({ text: grown(short + 1), file: 'a.jsonl' })
    await expect(less).rejects.toMatchObject({ _tag: 'ImportUnfinished' })
    await store.importSession({ text: grown(long + 5), file: 'a.jsonl' })
    expect(await store.conversation('a').position()).toBe(long + 4)
  })

  test('is copied as far as it counts; what only begins is left out, unless it is named', async () => {
    const { adapter } = await interrupted()
    const begun = dying(adapter, 2, true)
    await expect(talk(begun).importSession({ text: claudeCode, file: 'c.jsonl' })).rejects.toBeDefined()
    const from = layeredStore(adapter, 65_536)
    const to = layeredStore(narrow(memoryStore()), 65_536)
    expect(right(await run(copyBetween(from, to)))).toEqual([{ id: 'a', events: short, added: short }])
    const names = right(await from.streams('conversation-', '', 9)()).map((name) => name.slice(13))
    const id = names.find((name) => name !== 'a') ?? ''
    expect(right(await run(copyBetween(from, to, { ids: [id] })))).toMatchObject([
      { id, added: 0, error: { _tag: 'ImportUnfinished' } },
    ])
  })
})

test('several conversations of a file are followed from the moment at which all are there, also by who follows one of them', async () => {
  const adapter = narrow(memoryStore())
  const session = { text: several, file: 'several.jsonl' }
  const { store: counted, appends } = counting(narrow(memoryStore()))
  await talk(counted).importSession(session)
  const stop = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    for await (const item of talk(adapter).follow({ prefixes: ['b'], signal: stop.signal })) {
      if (item.type === 'event') seen.push(`${item.conversation} ${item.event.position}`)
      if (seen.length === 8) stop.abort()
    }
  })()
  await expect(talk(dying(adapter, appends(), false)).importSession(session)).rejects.toBeDefined()
  await sleep(5)
  expect(seen).toEqual([])
  await talk(adapter).importSession(session)
  await following
  expect(seen).toEqual(Array.from({ length: 8 }, (_, n) => `b ${n + 5}`))
})

test('a copy that ends at any append shows nothing of a conversation, or all of it; a second copy continues after what is there', async () => {
  const store = talk(memoryStore())
  await store.importSession({ text: one, file: 'a.jsonl' })
  const source = memoryStore()
  await talk(source).importSession({ text: one, file: 'a.jsonl' })
  const copy = (to: EventStore) => run(copyBetween(layeredStore(source, 65_536), layeredStore(to, 65_536)))
  for (const n of [1, 2, 3]) {
    const to = narrow(memoryStore())
    expect(right(await copy(dying(to, n, n > 1)))).toMatchObject([{ error: { _tag: 'StoreClosed' } }])
    expect(await idsIn(talk(to))).toEqual(n === 3 ? ['a'] : [])
    const [{ added, error } = { added: -1 }] = right(await copy(to))
    expect(error).toBeUndefined()
    expect(added).toBeLessThanOrEqual(9)
    expect(await contents(talk(to))).toEqual(await contents(store))
  }
})

test("the mark of a part is the store's own: events that bring one are refused, one that is damaged hides nothing", async () => {
  const adapter = memoryStore()
  const store = layeredStore(adapter, 65_536)
  const event = { id: 'e', type: 'T', data: '{}', metadata: '{"$part":{"from":9},"a":1}' }
  expect(left(await store.append({ stream: 's', events: [event], expected: -1 })())).toMatchObject({
    _tag: 'InvalidInput',
  })
  right(await adapter.append({ stream: 's', events: [event], expected: -1 })())
  expect(right(await store.read({ stream: 's', from: 0, direction: 'forwards', limit: 1 })())).toMatchObject([
    event,
  ])
  expect(right(await store.readAll({ limit: 5 })()).events).toMatchObject([event])
})

test('a process that imports is killed at random moments: another sees nothing or all of it, waits little, and completes it', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'large.jsonl')
  const source = talk(memoryStore())
  const large = source.conversation('large')
  const message = { role: 'user', content: 'word '.repeat(200) } as const
  await large.append(Array.from({ length: 3_000 }, () => message))
  await (await large.fork('fork')).append(Array.from({ length: 1_000 }, () => message))
  const text = (await eventsOf(source, 'fork')).map((event) => `${palimpsestLine(event)}\n`).join('')
  writeFileSync(file, text)
  let [longest, partial] = [0, 0]
  for (let round = 0; round < runs(5); round++) {
    const url = `sqlite:${join(folder, `${round}.db`)}`
    const store = await openStore(url)
    const child = start('store/children/importer.ts', url, file, ...(round === 0 ? ['500'] : []))
    const result = ended(child)
    await new Promise((resolve) => child.stdout?.once('data', resolve))
    // The first stands still in the middle, on the fastest machine.
    const until = performance.now() + (round === 0 ? 0 : Math.random() * 250)
    while (performance.now() < until) {
      const before = performance.now()
      await store.conversation('other').append({ role: 'user', content: 'meanwhile' })
      longest = Math.max(longest, performance.now() - before)
      const ids = (await idsIn(store)).filter((id) => id !== 'other')
      expect([[], ['fork', 'large']]).toContainEqual(ids)
    }
    child.kill('SIGKILL')
    expect((await result).code).toBeNull()
    const ids = (await idsIn(store)).filter((id) => id !== 'other')
    if (ids.length === 0) partial++
    expect([[], ['fork', 'large']]).toContainEqual(ids)
    await store.importSession({ text, file })
    expect(await store.conversation('large').verify()).toEqual({ conversation: 'large', events: 3_000 })
    expect(await store.conversation('fork').verify()).toEqual({
      conversation: 'fork',
      events: 1_001,
      inherited: { events: 3_000, from: 'large' },
    })
    await store.close()
  }
  expect(partial).toBeGreaterThan(0)
  process.stderr.write(
    `${partial} of ${runs(5)} killed in the middle; another writer waited at most ${longest.toFixed(1)} ms\n`,
  )
})
