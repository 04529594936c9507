import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { copyConversations, openStore } from 'palimpsest'
import { expect, test } from 'vitest'
import { atEnd } from '../../support/at-end.ts'
import { type EventStoreDb, eventStoreDb } from '../../support/eventstoredb/server.ts'
import { patient, somewhere, temporaryFolder } from '../../support/stores.ts'

const serve = async (): Promise<EventStoreDb> => {
  const db = await eventStoreDb()
  atEnd(db.close)
  return db
}
const newUrl = (): string => `sqlite:${join(temporaryFolder(), 'store.db')}?synchronous=off`

/** A store with a conversation of many events, some large, and forks of it. */
const stored = async ([a = 'a', b = 'b', c = 'c']: readonly string[] = []): Promise<string> => {
  const url = newUrl()
  const store = await openStore(url)
  const chat = store.conversation(a)
  await chat.append(
    Array.from({ length: 400 }, (_, n) => ({ role: 'user', content: `${n} \u{1F60A} “x”` }) as const),
  )
  // More than the server takes at once.
  await chat.append({ role: 'user', content: 'large '.repeat(200_000) })
  for (let n = 0; n < 8; n++) await chat.append({ role: 'user', content: `${n}`.repeat(60_000) })
  const fork = await chat.fork(b, { at: 300 })
  await fork.condense({ summary: 'All of it.', keepLast: 1 })
  await (await fork.fork(c)).rewind({ to: 10 })
  await store.close()
  return url
}
/** Every event of these conversations, to the byte. */
const contents = async (url: string, ids: readonly string[] = ['a', 'b', 'c']): Promise<unknown> => {
  const store = await openStore(url, { create: false })
  const all: unknown[] = []
  for (const id of ids) for await (const event of store.conversation(id).stored()) all.push(event)
  await store.close()
  return all
}

test('a copy from SQLite to EventStoreDB and on to another file is the same to the byte', async () => {
  // The server may have other conversations.
  const ids = ['a', 'b', 'c'].map((name) => `${name}-${randomUUID()}`)
  const from = await stored(ids)
  const { url } = await somewhere()
  const back = newUrl()
  const copied = ids.map((id, n) => ({ id, events: [409, 2, 2][n], added: [409, 2, 2][n] }))
  expect(await copyConversations({ from, to: url })).toEqual(copied)
  expect(await copyConversations({ from: url, to: back, ids })).toEqual(copied)
  expect(await copyConversations({ from, to: url })).toEqual(copied.map((all) => ({ ...all, added: 0 })))
  const original = await contents(from, ids)
  expect(original).toHaveLength(1_233)
  expect(await contents(url, ids)).toEqual(original)
  expect(await contents(back, ids)).toEqual(original)
})

test('two copies at once each tell what they wrote, and together that is all', async () => {
  const ids = ['a', 'b', 'c'].map((name) => `${name}-${randomUUID()}`)
  const from = await stored(ids)
  const { url: to } = await somewhere()
  const copies = await Promise.all([copyConversations({ from, to }), copyConversations({ from, to })])
  const added = ids.map((_, n) => copies.reduce((sum, copied) => sum + (copied[n]?.added ?? 0), 0))
  expect(copies.flat().map(({ events, error }) => [events, error])).toEqual(
    [409, 2, 2, 409, 2, 2].map((events) => [events, undefined]),
  )
  expect(added).toEqual([409, 2, 2])
  expect(await contents(to, ids)).toEqual(await contents(from, ids))
})

test('a copy continues through connections that break again and again, and writes everything once', async () => {
  const from = await stored()
  const db = await serve()
  let breaks = 0
  let appends = 0
  db.misbehave(({ method }) => {
    if (method !== 'BatchAppend' || ++appends % 3 !== 0 || breaks >= 4) return undefined
    breaks++
    return { kind: 'drop', written: breaks % 2 === 0 }
  })
  const copied = await copyConversations({ from, to: db.url + patient })
  expect(copied.map(({ error }) => error)).toEqual([undefined, undefined, undefined])
  expect(breaks).toBe(4)
  expect(await contents(db.url + patient)).toEqual(await contents(from))
})

test('a copy to a server that goes away ends with what it managed, and the next one continues there', async () => {
  const from = await stored()
  const db = await serve()
  const [interrupted, ...others] = await copyConversations({
    from,
    to: `${db.url}&defaultDeadline=10000&patience=10000`,
    progress: (done) => {
      if (done === 200) void db.kill()
    },
  })
  expect(interrupted?.added).toBe(200)
  expect(['OutcomeUnknown', 'StoreUnavailable']).toContain(interrupted?.error?._tag)
  expect(others.map(({ error }) => error)).toEqual([interrupted?.error, interrupted?.error])
  await db.start()
  const [a] = await copyConversations({ from, to: db.url + patient })
  // Of the append that nobody acknowledged the server may have everything.
  expect([209, 109]).toContain(a?.added)
  expect(await contents(db.url + patient)).toEqual(await contents(from))
})
