import { existsSync } from 'node:fs'
import { run } from '../../src/result/fallible.ts'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { copyConversations, openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { streamOf } from '../../src/events/ids.ts'
import { promiseStore } from '../../src/api/promises.ts'
import { type CopyResult, copyBetween, type CopyOptions } from '../../src/transfer/copy.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type EventStore, maxPage, type RecordedEvent } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { openEvents, storeOn, taskStore } from '../../src/api/open.ts'
import { atEnd } from '../support/at-end.ts'
import { bundle } from '../support/bundle.ts'
import { right } from '../support/either.ts'
import { user } from '../support/log.ts'
import { ended, program, start } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'
import { write } from '../support/write.ts'

const newUrl = (): string => `sqlite:${join(temporaryFolder(), 'store.db')}?synchronous=off`
const newSqlite = async (): Promise<EventStore> => right(await openSqlite(newUrl())())
const talk = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, { kind: 'test' })))
const copied = async (
  from: EventStore,
  to: EventStore,
  options?: CopyOptions,
): Promise<readonly CopyResult[]> => right(await run(copyBetween(from, to, options)))

const eventsIn = async (store: EventStore, id: string): Promise<readonly RecordedEvent[]> =>
  right(await store.read({ stream: streamOf(id), from: 0, direction: 'forwards', limit: maxPage })())
/** An event without its place in the store's global order. */
const withoutPlace = ({ stream, revision, id, type, data, metadata }: RecordedEvent): object => ({
  stream,
  revision,
  id,
  type,
  data,
  metadata,
})
/** Everything in a store. */
const contents = async (store: EventStore): Promise<unknown> => {
  const streams = right(await store.streams('', '', maxPage)())
  const all = streams.map(async (stream) =>
    right(await store.read({ stream, from: 0, direction: 'forwards', limit: maxPage })()).map(withoutPlace),
  )
  return Promise.all(all)
}

/** A store with a conversation `a`, one `b` forked from it, one `c` forked from that, and one of its own, `d`. */
const forked = async (events: EventStore): Promise<EventStore> => {
  const store = talk(events)
  const a = store.conversation('a')
  for (const content of ['one', 'two', '\u{1F60A} “three”', 'four']) await a.append({ role: 'user', content })
  await a.truncate({ keepLast: 1 })
  const b = await a.fork('b', { at: 2 })
  await b.append({ role: 'user', content: 'else' })
  await b.condense({ summary: 'All of it.', keepLast: 1 })
  const c = await b.fork('c')
  await c.rewind({ to: 1 })
  await store.conversation('d').append({ role: 'user', content: 'alone' })
  return events
}
const long = async (events: EventStore, id: string, count: number): Promise<void> =>
  write(
    events,
    id,
    Array.from({ length: count }, (_, n) => user(`${n}`)),
  )

describe('a copy', () => {
  test('has every event to the byte, at its revision, from store to store to store', async () => {
    const first = await forked(memoryStore())
    const second = await newSqlite()
    const third = await newSqlite()
    const last = memoryStore()
    expect(await copied(first, second)).toEqual([
      { id: 'a', events: 5, added: 5 },
      { id: 'b', events: 3, added: 3 },
      { id: 'c', events: 2, added: 2 },
      { id: 'd', events: 1, added: 1 },
    ])
    await copied(second, third)
    await copied(third, last)
    for (const store of [second, third, last]) expect(await contents(store)).toEqual(await contents(first))
    expect(await talk(last).conversation('c').full()).toEqual(await talk(first).conversation('c').full())
    await second.close()()
    await third.close()()
  })

  test('of a fork brings along what it was forked from, once, and before it', async () => {
    const to = memoryStore()
    const all = await copied(await forked(memoryStore()), to, { ids: ['c', 'b', 'c'] })
    expect(all.map(({ id, added }) => [id, added])).toEqual([
      ['a', 5],
      ['b', 3],
      ['c', 2],
    ])
  })

  test('adds nothing the second time, and only what is new the third', async () => {
    const from = await forked(memoryStore())
    const to = memoryStore()
    await copied(from, to)
    expect(await copied(from, to, { ids: ['c'] })).toEqual([
      { id: 'a', events: 5, added: 0 },
      { id: 'b', events: 3, added: 0 },
      { id: 'c', events: 2, added: 0 },
    ])
    await talk(from).conversation('d').append({ role: 'assistant', content: 'more' })
    expect(await copied(from, to, { ids: ['d'] })).toEqual([{ id: 'd', events: 2, added: 1 }])
    expect(await contents(to)).toEqual(await contents(from))
  })

  test('adds nothing to a conversation that has gone on in the target', async () => {
    const from = await forked(memoryStore())
    const to = memoryStore()
    await copied(from, to)
    await talk(to).conversation('d').append({ role: 'assistant', content: 'gone on' })
    expect(await copied(from, to, { ids: ['d'] })).toEqual([{ id: 'd', events: 1, added: 0 }])
    expect(await eventsIn(to, 'd')).toHaveLength(2)
  })

  test('recognises commands that are repeated after the move', async () => {
    const [from, to] = [await newSqlite(), await newSqlite()]
    const deliver = (events: EventStore, n: number): Promise<unknown> =>
      talk(events)
        .conversation('a')
        .append({ role: 'user', content: `once ${n}` }, { commandId: `delivery-${n}` })
    for (const n of [1, 2, 3]) await deliver(from, n)
    await copied(from, to)
    for (const n of [1, 2, 3]) await deliver(to, n)
    expect(await eventsIn(to, 'a')).toHaveLength(3)
  })
})

describe('a copy is told to fail where', () => {
  test('an id is none: no other conversation fails for it', async () => {
    const from = await forked(memoryStore())
    const outcomes = await copied(from, memoryStore(), { ids: ['', 'd'] })
    expect(outcomes.map(({ id, error }) => [id, error?._tag])).toEqual([
      ['', 'ConversationNotFound'],
      ['d', undefined],
    ])
    const urls = { from: newUrl(), to: newUrl() }
    for (const ids of ['d', [5], ['']])
      await expect(copyConversations({ ...urls, ids: ids as string[] })).rejects.toMatchObject({
        _tag: 'InvalidInput',
        path: 'ids',
      })
  })

  test('the target has another event, which stays as it is; the others are copied', async () => {
    const from = await forked(memoryStore())
    const to = memoryStore()
    await talk(to).conversation('a').append({ role: 'user', content: 'another one' })
    const before = await eventsIn(to, 'a')
    const [a, b, c, d] = await copied(from, to)
    expect(a).toMatchObject({ id: 'a', events: 0, added: 0 })
    expect(a?.error).toMatchObject({ _tag: 'CopyDiverged', conversation: 'a', revision: 0 })
    expect(a?.error?.message).toMatch(/copy into another store/)
    // Without what they were forked from they would be nothing.
    expect([b?.error, c?.error]).toEqual([a?.error, a?.error])
    expect(d).toEqual({ id: 'd', events: 1, added: 1 })
    expect(await eventsIn(to, 'a')).toEqual(before)
    expect(await eventsIn(to, 'b')).toEqual([])
  })

  test('source and target went on differently', async () => {
    const from = await forked(memoryStore())
    const to = memoryStore()
    await copied(from, to)
    for (const store of [from, to])
      await talk(store).conversation('d').append({ role: 'assistant', content: 'each its own' })
    const [d] = await copied(from, to, { ids: ['d'] })
    expect(d?.error).toMatchObject({ _tag: 'CopyDiverged', conversation: 'd', revision: 1 })
  })

  test('the source was changed before its last event: nothing of the conversation is added', async () => {
    const [path, to] = [join(temporaryFolder(), 'store.db'), memoryStore()]
    const source = await openStore(`sqlite:${path}`)
    const chat = source.conversation('a')
    await chat.append({ role: 'user', content: 'Hi' })
    await chat.append({ role: 'assistant', content: 'Hello' })
    await source.conversation('b').append({ role: 'user', content: 'Hi' })
    const copy = async (): Promise<readonly CopyResult[]> => {
      const from = right(await openEvents(`sqlite:${path}`)())
      const results = await copied(from, to)
      await from.close()()
      return results
    }
    await copy()
    await chat.note({ kind: 'test/later', data: 'a note' })
    await chat.append({ role: 'user', content: 'And now?' })
    await source.close()
    const db = new DatabaseSync(path)
    db.exec(
      `UPDATE events SET data = replace(data, 'Hi', 'No') WHERE revision = 0 AND stream = (SELECT stream FROM events WHERE revision = 1 LIMIT 1)`,
    )
    db.close()
    const before = await contents(to)
    const [a, b] = await copy()
    expect(a).toMatchObject({ id: 'a', events: 0, added: 0 })
    expect(a?.error).toMatchObject({ _tag: 'CopyDiverged', conversation: 'a', revision: 0 })
    expect(a?.error?.message).toMatch(/palimpsest verify says whether the source or the target was changed/)
    expect(b).toEqual({ id: 'b', events: 1, added: 0 })
    expect(await contents(to)).toEqual(before)
  })

  test('the last event of the source was changed: nothing follows it that could show this', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const source = await openStore(`sqlite:${path}`)
    for (const content of ['Hi', 'Hello']) await source.conversation('a').append({ role: 'user', content })
    await source.close()
    const db = new DatabaseSync(path)
    db.exec(`UPDATE events SET data = replace(data, 'Hello', 'No')`)
    db.close()
    const from = right(await openEvents(`sqlite:${path}`)())
    atEnd(from.close())
    const to = memoryStore()
    const [a] = await copied(from, to)
    expect(a).toMatchObject({ added: 0, error: { _tag: 'HistoryLost' } })
    expect(a?.error?.message).toContain('conversation-a, at revision 1, was changed')
    expect(await contents(to)).toEqual([])
  })

  test('there is no such conversation, or not the one that it was forked from', async () => {
    const whole = await forked(memoryStore())
    const from = memoryStore()
    for (const id of ['b', 'd'])
      right(await from.append({ stream: streamOf(id), events: await eventsIn(whole, id), expected: -1 })())
    const all = await copied(from, memoryStore(), { ids: ['x', 'b', 'd'] })
    expect(
      all.map(({ id, error }) => [id, error && [error._tag, 'conversation' in error && error.conversation]]),
    ).toEqual([
      ['x', ['ConversationNotFound', 'x']],
      ['a', ['ConversationNotFound', 'a']],
      ['b', ['ConversationNotFound', 'a']],
      ['d', undefined],
    ])
  })

  test('the source lacks events, rather than that others move to their places', async () => {
    const from = memoryStore()
    await long(from, 'a', 5)
    const without: EventStore = {
      ...from,
      read: (range) => async () =>
        E.map((events: readonly RecordedEvent[]) => events.filter(({ revision }) => revision !== 2))(
          await from.read(range)(),
        ),
    }
    const to = memoryStore()
    const [a] = await copied(without, to)
    expect(a?.error).toMatchObject({ _tag: 'HistoryLost', stream: 'conversation-a' })
    expect(await eventsIn(to, 'a')).toEqual([])
  })

  test('the source has lost the end of a conversation: a copy without it would look whole', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const whole = await openStore(`sqlite:${path}`)
    for (const content of ['a', 'b', 'c']) await whole.conversation('a').append({ role: 'user', content })
    await whole.close()
    const db = new DatabaseSync(path)
    db.exec('DELETE FROM events WHERE revision = 2')
    db.close()
    const from = right(await openEvents(`sqlite:${path}`)())
    atEnd(from.close())
    const to = memoryStore()
    const [a] = await copied(from, to)
    expect(a?.error).toMatchObject({
      _tag: 'HistoryLost',
      message: expect.stringContaining('once had revision 2'),
    })
    expect(await eventsIn(to, 'a')).toEqual([])
  })

  test('what was copied is not as it was written', async () => {
    const honest = memoryStore()
    await long(honest, 'a', 3)
    const events = (await eventsIn(honest, 'a')).map((event) =>
      event.revision === 1 ? { ...event, data: event.data.replace('"1"', '"forged"') } : event,
    )
    const from = memoryStore()
    right(await from.append({ stream: streamOf('a'), events, expected: -1 })())
    const [a] = await copied(from, memoryStore())
    expect(a).toMatchObject({ added: 3, error: { _tag: 'CopyNotVerified', discrepancy: { position: 2 } } })
  })

  test('the store itself fails: no further conversation is tried', async () => {
    const from = await forked(memoryStore())
    const whole = memoryStore()
    let appends = 0
    const full = { _tag: 'StoreFull', message: 'no room left', store: 'memory:' } as const
    const to: EventStore = {
      ...whole,
      append: (append) => (++appends > 1 ? async () => E.left(full) : whole.append(append)),
    }
    const all = await copied(from, to)
    expect(all.map(({ error }) => error)).toEqual([undefined, full, full, full])
    expect(appends).toBe(2)
  })
})

describe('copying', () => {
  test('appends at most 100 events at once, and half of what the target takes', async () => {
    const from = memoryStore()
    await long(from, 'small', 250)
    await write(
      from,
      'large',
      ['x', 'y'.repeat(3_000), 'z', 'u'.repeat(20_000), 'v'].map((text) => user(text)),
    )
    const sizes: number[][] = []
    const whole = memoryStore()
    const to: EventStore = {
      ...whole,
      maxAppendBytes: 8_000,
      append: (append) => {
        sizes.push(append.events.map(({ data, metadata }) => Buffer.byteLength(data + metadata)))
        return whole.append(append)
      },
    }
    await copied(from, to, { ids: ['large'] })
    expect(sizes.map(({ length }) => length)).toEqual([3, 1, 1])
    sizes.splice(0)
    await copied(from, { ...to, maxAppendBytes: Infinity }, { ids: ['small'] })
    expect(sizes.map(({ length }) => length)).toEqual([100, 100, 50])
    expect(await contents(to)).toEqual(await contents(from))
  })

  test('reads the next page while it writes one', async () => {
    const source = memoryStore()
    await long(source, 'a', 300)
    let asked = -1
    const from: EventStore = {
      ...source,
      read: (range) => {
        if (range.limit > 1) asked = range.from
        return source.read(range)
      },
    }
    const whole = memoryStore()
    const ahead: number[] = []
    const to: EventStore = {
      ...whole,
      append: (append) => {
        ahead.push(asked - append.expected)
        return whole.append(append)
      },
    }
    await copied(from, to)
    expect(ahead).toEqual([101, 101, 1])
  })

  test('minds no writer who appends to the source meanwhile', async () => {
    const from = memoryStore()
    await long(from, 'a', 250)
    const store = talk(from)
    const whole = memoryStore()
    const to: EventStore = {
      ...whole,
      append: (append) => async () => {
        await store.conversation('a').append({ role: 'user', content: 'meanwhile' })
        return whole.append(append)()
      },
    }
    const [a] = await copied(from, to)
    expect(a?.error).toBeUndefined()
    expect(a?.events).toBeGreaterThanOrEqual(250)
    await copied(from, whole)
    expect(await contents(whole)).toEqual(await contents(from))
  })

  test('twice at the same time writes everything once', async () => {
    const from = memoryStore()
    await long(from, 'a', 900)
    const to = await newSqlite()
    const both = await Promise.all([copied(from, to), copied(from, to)])
    expect(both.flat().map(({ error }) => error)).toEqual([undefined, undefined])
    expect(both.flat().reduce((sum, { added }) => sum + added, 0)).toBe(900)
    expect(await contents(to)).toEqual(await contents(from))
    await to.close()()
  })

  test('tells how far it is, up to the end', async () => {
    const from = await forked(memoryStore())
    const to = memoryStore()
    await copied(from, to, { ids: ['a'] })
    const told: string[] = []
    await copied(from, to, { progress: (done, total) => told.push(`${done} of ${total}`) })
    expect(told[0]).toBe('5 of 11')
    expect(told.at(-1)).toBe('11 of 11')
  })

  test('needs a source that is there, and makes no target without one', async () => {
    const [from, to] = [newUrl(), newUrl()]
    await expect(copyConversations({ from, to })).rejects.toMatchObject({ _tag: 'StoreNotFound' })
    expect(existsSync(to.replace(/^sqlite:|\?.*/g, ''))).toBe(false)
    await expect(copyConversations({ from: 'memory:', to: 'nonsense' })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'url',
    })
    await expect(copyConversations({ from } as never)).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })

  test('is killed again and again, and goes on where it ended: nothing is lost or doubled', async () => {
    const [from, to] = [newUrl(), newUrl()]
    // Many processes: each loads a few files in place of all the sources.
    const folder = temporaryFolder()
    await bundle(program('store/children/copier.ts'), folder)
    const source = right(await openSqlite(from)())
    await long(source, 'a', 3_000)
    await long(source, 'b', 1_500)
    let kills = 0
    for (let code: number | null = null; code !== 0;) {
      // It stands still after the append in the middle of which it is killed, or later.
      const child = start(join(folder, 'copier.js'), from, to, '5')
      const result = ended(child)
      let printed = ''
      child.stdout?.on('data', (chunk: Buffer) => {
        const before = printed
        printed += chunk.toString()
        const has = (text: string): boolean => text.split('\n').length > 4
        if (has(printed) && !has(before)) setTimeout(() => child.kill('SIGKILL'), Math.random() * 5)
      })
      code = (await result).code
      if (code === null) kills++
      expect(kills).toBeLessThan(60)
    }
    expect(kills).toBeGreaterThan(2)
    const target = right(await openEvents(to)())
    for (const id of ['a', 'b'])
      for (let revision = 0; revision < 3_000; revision += maxPage) {
        const range = { stream: streamOf(id), from: revision, direction: 'forwards', limit: maxPage } as const
        expect(right(await target.read(range)()).map(withoutPlace)).toEqual(
          right(await source.read(range)()).map(withoutPlace),
        )
      }
    expect((await copied(source, target)).map(({ added }) => added)).toEqual([0, 0])
    await source.close()()
    await target.close()()
  })
})
