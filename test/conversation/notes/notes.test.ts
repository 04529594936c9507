import { readFileSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import { hashOf, type StoredEvent } from '../../../src/events/codec.ts'
import { notesStreamOf } from '../../../src/events/ids.ts'
import { noteCodec, noteSchemas } from '../../../src/events/notes.ts'
import type { NewLink, NewNote, Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { right } from '../../support/either.ts'
import { collect } from '../../support/eventstoredb/client.ts'
import { stores } from '../../support/stores.ts'

const actor = { kind: 'test' }
const on = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, actor)))
const said = (content: string) => ({ role: 'user', content }) as const

const storedNotes = async (store: EventStore, id: string) =>
  right(await store.read({ stream: notesStreamOf(id), from: 0, direction: 'forwards', limit: 1_000 })())

describe.each(Object.entries(stores))('notes in the %s store', (_, open) => {
  it('are recorded after the last position, and take none', async () => {
    const chat = on(await open()).conversation('c')
    await chat.append([said('a'), said('b')])
    const note = await chat.note({ kind: 'title', data: 'Two letters' })
    expect(note).toMatchObject({ conversation: 'c', kind: 'title', data: 'Two letters', at: 1, revision: 0 })
    expect(note.metadata).toMatchObject({ actor, prev: null, schema: 1 })
    expect(await chat.position()).toBe(1)
    expect(await chat.notes()).toEqual([note])
  })

  it('are chained to each other', async () => {
    const events = await open()
    const chat = on(events).conversation('c')
    await chat.append(said('a'))
    await chat.note({ kind: 'test/one' })
    const { metadata } = await chat.link({ relation: 'continues', ref: 'another tool' })
    const [first] = await storedNotes(events, 'c')
    expect(metadata.prev).toBe(first && hashOf(first))
  })

  it('make no fence stale: a reply to what was read before a note lands', async () => {
    const chat = on(await open()).conversation('c')
    await chat.append(said('a'))
    await chat.note({ kind: 'test/metric', data: 1 })
    const { position } = await chat.append({ role: 'assistant', content: 'b' }, { after: 0 })
    expect(position).toBe(1)
  })

  it('leave undo what it was', async () => {
    const chat = on(await open()).conversation('c')
    await chat.append([said('a'), said('b')])
    await chat.rewind({ to: 0 })
    await chat.note({ kind: 'test/metric', data: 1 })
    await chat.undo()
    expect((await chat.effective()).map(({ position }) => position)).toEqual([0, 1])
  })

  it('survive a rewind: the latest of a kind goes by when it was recorded', async () => {
    const chat = on(await open()).conversation('c')
    await chat.append(said('a'))
    await chat.note({ kind: 'title', data: 'old' })
    await chat.append(said('b'))
    await chat.note({ kind: 'title', data: 'new' })
    await chat.note({ kind: 'test/other' })
    await chat.rewind({ to: 0 })
    expect(await chat.notes({ kind: 'title', last: 1 })).toMatchObject([{ data: 'new', at: 1 }])
    expect(await chat.notes({ last: 2 })).toMatchObject([{ data: 'new' }, { kind: 'test/other' }])
    expect(await chat.notes({ last: 0 })).toEqual([])
  })

  it('write nothing when they are repeated, and answer as the first time', async () => {
    const chat = on(await open()).conversation('c')
    await chat.append(said('a'))
    const first = await chat.note({ kind: 'test/n', data: 1 }, { commandId: 'once' })
    await chat.append(said('b'))
    await chat.note({ kind: 'test/n', data: 2 })
    expect(await chat.note({ kind: 'test/n', data: 1 }, { commandId: 'once' })).toEqual(first)
    expect((await chat.notes()).map(({ data }) => data)).toEqual([1, 2])
  })

  it('are all there, in order, when several write at once', async () => {
    const events = await open()
    const [one, other] = [on(events).conversation('c'), on(events).conversation('c')]
    await one.append(said('a'))
    const numbers = [...Array(8).keys()]
    await Promise.all(
      numbers.flatMap((data) => [
        one.note({ kind: 'test/one', data }),
        other.note({ kind: 'test/other', data }),
      ]),
    )
    for (const kind of ['test/one', 'test/other'])
      expect((await one.notes({ kind })).map(({ data }) => data)).toEqual(numbers)
  })

  it('of a conversation go to its forks, as far as they were noted up to there; links do not', async () => {
    const store = on(await open())
    const chat = store.conversation('c')
    await chat.append(said('a'))
    await chat.note({ kind: 'title', data: 'first' })
    await chat.append(said('b'))
    await chat.note({ kind: 'title', data: 'second' })
    await chat.link({ relation: 'continues', ref: 'x' })
    const fork = await chat.fork('f', { at: 0 })
    expect(await fork.notes()).toMatchObject([{ conversation: 'c', data: 'first' }])
    await fork.note({ kind: 'title', data: 'of the fork' })
    expect((await fork.notes()).map(({ data, at }) => [data, at])).toEqual([
      ['first', 0],
      ['of the fork', 1],
    ])
    expect(await fork.links()).toEqual([])
  })

  it('of a link are refined by a later one to the same end', async () => {
    const chat = on(await open()).conversation('c')
    await chat.append(said('a'))
    await chat.link({ relation: 'subagent-of', ref: 'agent-1.jsonl' })
    await chat.link({ relation: 'subagent-of', ref: 'agent-1.jsonl', conversation: 'p' })
    await chat.link({ relation: 'subagent-of', conversation: 'p', position: 3, call: 'toolu_1' })
    await chat.link({ relation: 'continues', conversation: 'p' })
    await chat.link({ relation: 'subagent-of', conversation: 'q' })
    const links = await chat.links()
    expect(links).toMatchObject([
      { relation: 'subagent-of', conversation: 'p', ref: 'agent-1.jsonl', position: 3, call: 'toolu_1' },
      { relation: 'continues', conversation: 'p' },
      { relation: 'subagent-of', conversation: 'q' },
    ])
    expect(links).toHaveLength(3)
  })

  it('of a link show it at either end', async () => {
    const store = on(await open())
    const [parent, child] = [store.conversation('p'), store.conversation('p:child')]
    await parent.append(said('a'))
    await child.append(said('b'))
    expect(await parent.links()).toEqual([])
    await child.link({ relation: 'subagent-of', conversation: 'p' })
    expect(await parent.links()).toMatchObject([
      { from: 'p:child', relation: 'subagent-of', conversation: 'p' },
    ])
    await child.link({ relation: 'subagent-of', conversation: 'p', call: 'toolu_1' })
    expect(await parent.links()).toMatchObject([{ from: 'p:child', call: 'toolu_1' }])
  })

  it('of others are seen by those who have looked before', async () => {
    const events = await open()
    const [here, there] = [on(events), on(events)]
    await there.conversation('p').append(said('a'))
    await there.conversation('c').append(said('b'))
    const titlesHere = async () => {
      const titles: string[] = []
      for await (const { id, title, parent } of here.conversations({ sort: 'id' }))
        titles.push(`${id} ${title} ${parent ?? ''}`)
      return titles
    }
    expect(await titlesHere()).toEqual(['c b ', 'p a '])
    expect(await here.conversation('p').links()).toEqual([])
    await there.conversation('c').link({ relation: 'continues', conversation: 'p' })
    await there.conversation('c').note({ kind: 'title', data: ' A\ntitle' })
    expect(await titlesHere()).toEqual(['c A title p', 'p a '])
    expect(await here.conversation('p').links()).toMatchObject([{ from: 'c' }])
  })

  it('are shown by a list wherever they are among its pages', async () => {
    const store = on(await open())
    const ids = [...Array(240).keys()].map((n) => `c${String(n).padStart(3, '0')}`)
    const noted = ids.filter((id, n) => n % 4 === 1 || id > 'c200')
    for (const id of ids.slice(0, 120)) await store.conversation(id).append(said(id))
    for (const id of noted.slice(0, 25)) await store.conversation(id).note({ kind: 'title', data: `T ${id}` })
    for (const id of ids.slice(120)) await store.conversation(id).append(said(id))
    for (const id of noted.slice(25)) await store.conversation(id).note({ kind: 'title', data: `T ${id}` })
    for (const [sort, order] of [
      ['newest', ids.toReversed()],
      ['id', ids],
    ] as const) {
      const titles = (await collect(store.conversations({ sort }))).map(({ title }) => title)
      expect(titles).toEqual(order.map((id) => (noted.includes(id) ? `T ${id}` : id)))
    }
  })

  it('are shown by the full history where they were noted, if it is asked for them', async () => {
    const chat = on(await open()).conversation('c')
    await chat.append([said('a'), said('b')])
    const note = await chat.note({ kind: 'test/one' })
    const link = await chat.link({ relation: 'continues', ref: 'x' })
    await chat.append(said('c'))
    const later = await chat.note({ kind: 'test/two' })
    const [a, b, c] = await chat.full()
    expect(await chat.full({ notes: true })).toEqual([
      a,
      b,
      { kind: 'note', position: 1, note },
      { kind: 'link', position: 1, link },
      c,
      { kind: 'note', position: 2, note: later },
    ])
    expect(await chat.full({ notes: true, at: 0 })).toEqual([a])
    await chat.rewind({ to: 0 })
    expect(await chat.full({ notes: true })).toMatchObject([a ?? {}, { note }, { link }, { note: later }])
  })

  it('do not come to those who read or follow all conversations', async () => {
    const store = on(await open())
    const chat = store.conversation('c')
    await chat.append(said('a'))
    await chat.note({ kind: 'test/one' })
    await chat.append(said('b'))
    const read: number[] = []
    for await (const { event } of store.readAll()) read.push(event.position)
    expect(read).toEqual([0, 1])
    const stop = new AbortController()
    for await (const followed of store.follow({ signal: stop.signal })) {
      if (followed.type === 'event') read.push(followed.event.position)
      if (read.length === 4) stop.abort()
    }
    expect(read).toEqual([0, 1, 0, 1])
  })

  it('hold large content like events', async () => {
    const events = await open()
    const chat = on(events).conversation('c')
    await chat.append(said('a'))
    const data = { text: 'x'.repeat(200_000) }
    const [note] = [
      await chat.note({ kind: 'test/large', data }),
      await on(events).gc({ olderThan: new Date() }),
    ]
    expect(note.data).toEqual(data)
    expect(await chat.notes()).toEqual([note])
    expect((await storedNotes(events, 'c'))[0]?.data.length).toBeLessThan(1_000)
  })
})

describe('a note is refused', () => {
  const chat = () => on(memoryStore()).conversation('c')

  it.each([
    ['beside a conversation that is not there', { kind: 'title', data: 't' }, 'ConversationNotFound', 'd'],
    ['of a plain kind that has no meaning', { kind: 'titel', data: 't' }, 'InvalidInput', 'c'],
    ['of a title that is no text', { kind: 'title', data: 5 }, 'InvalidInput', 'c'],
    ['with a field that is not known', { kind: 'test/x', dota: 5 }, 'InvalidInput', 'c'],
    ['with data that JSON cannot hold', { kind: 'test/x', data: 1n }, 'InvalidInput', 'c'],
    ['beside an impossible id', { kind: 'test/x' }, 'InvalidInput', 'no id'],
  ])('%s', async (_, note, _tag, id) => {
    const other = on(memoryStore()).conversation(id)
    if (id === 'c') await other.append(said('a'))
    await expect(other.note(note as NewNote)).rejects.toMatchObject({ _tag })
    if (id === 'c') expect(await other.notes()).toEqual([])
  })

  it.each([
    ['to no end', { relation: 'continues' }],
    ['without a relation', { relation: '', ref: 'x' }],
    ['to an impossible id', { relation: 'continues', conversation: 'no id' }],
  ])('as a link %s', async (_, link) => {
    const one = chat()
    await one.append(said('a'))
    await expect(one.link(link as NewLink)).rejects.toMatchObject({ _tag: 'InvalidInput' })
    expect(await one.links()).toEqual([])
  })
})

interface Golden {
  readonly stored: StoredEvent
  readonly hash: string
  readonly decoded: { readonly revision: number }
}
// As the first release with notes wrote them. Never edited.
const golden = JSON.parse(
  readFileSync(new URL('../../golden/events/notes-v1.json', import.meta.url), 'utf8'),
) as readonly Golden[]

describe('a stored note of schema version 1', () => {
  it.each(golden.map((one, index) => [index, one.stored.type, one] as const))(
    '%i, a %s, decodes to what it always did, and has the hash that it always had',
    (_, __, { stored, hash, decoded }) => {
      const { revision } = decoded
      expect(noteCodec.decode(stored, { stream: 's', revision })).toEqual(E.right(decoded))
      expect(hashOf(stored)).toBe(hash)
    },
  )

  it('is there of every type', () => {
    expect(new Set(golden.map(({ stored }) => stored.type))).toEqual(new Set(Object.keys(noteSchemas)))
  })
})
