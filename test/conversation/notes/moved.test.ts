import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import { notesStreamOf, streamOf } from '../../../src/events/ids.ts'
import { palimpsestLines } from '../../../src/transfer/formats/write-palimpsest.ts'
import { type Conversation, copyConversations, openStore, type Store } from '../../../src/index.ts'
import { recordPrefix } from '../../../src/store/whole/parts.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { right } from '../../support/either.ts'
import { stores, temporaryFolder } from '../../support/stores.ts'

const on = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, { kind: 'test' })))
const said = (content: string) => ({ role: 'user', content }) as const

/** A conversation and its fork, both with notes, one of which is large. */
const noted = async (store: Store): Promise<Conversation> => {
  const chat = store.conversation('c')
  await chat.append([said('a'), said('b')])
  await chat.note({ kind: 'title', data: 'A title' })
  await chat.note({ kind: 'test/large', data: 'x'.repeat(100_000) })
  await chat.link({ relation: 'continues', ref: 'yesterday' })
  const fork = await chat.fork('f', { at: 1 })
  await fork.note({ kind: 'test/own' })
  return fork
}

const linesOf = async (chat: Conversation): Promise<string> => {
  let lines = ''
  for await (const line of palimpsestLines(chat.stored())) lines += line
  return lines
}

const seen = async (store: Store) => {
  const [chat, fork] = [store.conversation('c'), store.conversation('f')]
  return [await chat.notes(), await fork.notes(), await chat.links(), await linesOf(fork)]
}

describe.each(Object.entries(stores))('the notes of a conversation in the %s store', (_, open) => {
  it('are copied with it, to the byte, and those that came since by the next copy', async () => {
    const [from, to] = [await open(), await open()]
    const [source, target] = [on(from), on(to)]
    const fork = await noted(source)
    const first = await copyConversations({ from, to })
    expect(first.map(({ id, events, added, error }) => [id, events, added, error])).toEqual([
      ['c', 2, 5, undefined],
      ['f', 1, 2, undefined],
    ])
    expect(await seen(target)).toEqual(await seen(source))
    await fork.note({ kind: 'test/later' })
    expect((await copyConversations({ from, to })).map(({ added }) => added)).toEqual([0, 1])
    expect(await seen(target)).toEqual(await seen(source))
  })

  it('are exported with it, and imported once', async () => {
    const [source, target] = [on(await open()), on(await open())]
    const text = await linesOf(await noted(source))
    await target.importSession({ text, file: 'f.jsonl' })
    expect(await seen(target)).toEqual(await seen(source))
    const again = await target.importSession({ text, file: 'f.jsonl' })
    expect(again.conversations.map(({ added }) => added)).toEqual([0, 0])
    expect(await seen(target)).toEqual(await seen(source))
  })

  it('are verified with it', async () => {
    const events = await open()
    const store = on(events)
    await noted(store)
    expect(await store.conversation('c').verify()).toEqual({ conversation: 'c', events: 2, notes: 3 })
    const stream = notesStreamOf('c')
    const [note] = right(await events.read({ stream, from: 2, direction: 'forwards', limit: 1 })())
    const {
      id: _id,
      stream: _stream,
      revision: _revision,
      checkpoint: _checkpoint,
      ...rest
    } = note ?? expect.fail()
    // Written beside the library, chained to another event than the one before it.
    right(await events.append({ stream, events: [{ ...rest, id: randomUUID() }], expected: 2 })())
    expect(await store.conversation('c').verify()).toMatchObject({
      events: 2,
      notes: 3,
      discrepancy: { kind: 'note', position: 3 },
    })
  })

  it('are not shown while the import that brings them is not complete', async () => {
    const events = memoryStore()
    const text = await linesOf(await noted(on(await open())))
    const isRecord = ({ stream }: { readonly stream: string }) => stream.startsWith(recordPrefix)
    const broken: EventStore = {
      ...events,
      append: (request) =>
        isRecord(request) ? () => Promise.reject(new Error('killed')) : events.append(request),
    }
    await expect(on(broken).importSession({ text, file: 'f.jsonl' })).rejects.toThrow('killed')
    const written = right(await events.readAll({ limit: 100, prefixes: [streamOf(''), notesStreamOf('')] })())
    expect(written.events).toHaveLength(7)
    const store = on(events)
    await expect(store.conversation('c').notes()).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
    await store.conversation('p').append(said('a'))
    expect(await store.conversation('p').links()).toEqual([])
    await store.importSession({ text, file: 'f.jsonl' })
    expect(await store.conversation('c').notes()).toHaveLength(2)
    expect(await store.conversation('f').verify()).toEqual({
      conversation: 'f',
      events: 1,
      notes: 1,
      inherited: { events: 2, from: 'c' },
    })
  })
})

it('a backup has the notes', async () => {
  const folder = temporaryFolder()
  const store = await openStore(`sqlite:${join(folder, 'a.db')}`)
  await noted(store)
  await store.backup(join(folder, 'b.db'))
  const copy = await openStore(`sqlite:${join(folder, 'b.db')}`)
  expect(await seen(copy)).toEqual(await seen(store))
  await copy.close()
  await store.close()
})

it('notes that an interrupted import adds to a conversation that is there are not shown until it is complete', async () => {
  const events = memoryStore()
  const entry = (uuid: string, parentUuid: string | null) =>
    JSON.stringify({
      sessionId: 's',
      uuid,
      parentUuid,
      type: 'user',
      message: { role: 'user', content: uuid },
    })
  const title = (customTitle: string) => JSON.stringify({ type: 'custom-title', customTitle, sessionId: 's' })
  const begun = [entry('a', null), title('One')].join('\n')
  const grown = [begun, entry('b', 'a'), title('Two')].join('\n')
  const broken: EventStore = {
    ...events,
    append: (request) =>
      request.stream.startsWith(recordPrefix)
        ? () => Promise.reject(new Error('killed'))
        : events.append(request),
  }
  const store = on(events)
  await store.importSession({ text: begun, file: 's.jsonl' })
  await expect(on(broken).importSession({ text: grown, file: 's.jsonl' })).rejects.toThrow('killed')
  const chat = store.conversation('s')
  const titles = async () => (await chat.notes({ kind: 'title' })).map(({ data }) => data)
  expect([await titles(), await chat.position()]).toEqual([['One'], 0])
  await expect(chat.note({ kind: 'title', data: 'Mine' })).rejects.toMatchObject({ _tag: 'ImportUnfinished' })
  await store.importSession({ text: grown, file: 's.jsonl' })
  expect([await titles(), await chat.position()]).toEqual([['One', 'Two'], 1])
  expect(await chat.verify()).toEqual({ conversation: 's', events: 2, notes: 2 })
})
