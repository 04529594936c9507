import { join } from 'node:path'
import { openStore, type Conversation, type Store } from 'palimpsest'
import { afterEach, describe, expect, test } from 'vitest'
import { conversationContract } from '../contract/conversation-contract.ts'
import { temporaryFolder } from '../support/stores.ts'

const urls: Readonly<Record<string, () => string>> = {
  memory: () => 'memory:',
  sqlite: () => `sqlite:${join(temporaryFolder(), 'store.db')}?synchronous=off`,
}

describe.each(Object.entries(urls))('a conversation in the %s store', (_, url) => {
  const open: Store[] = []
  const opened = async (): Promise<Store> => {
    const store = await openStore(url())
    open.push(store)
    return store
  }
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close()
  })
  const begun = async (...texts: readonly string[]): Promise<Conversation> => {
    const chat = (await opened()).conversation('c')
    await chat.append(
      texts.map((content, n) => ({
        role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content,
      })),
    )
    return chat
  }
  const shown = async (chat: Conversation, at?: number): Promise<readonly number[]> =>
    (await chat.effective(at === undefined ? {} : { at })).map(({ position }) => position)

  conversationContract(opened)

  describe('a fork', () => {
    test("begins with its parent's history, copies nothing, and goes its own way", async () => {
      const chat = await begun('a', 'b', 'c')
      const fork = await chat.fork('f', { at: 1 })
      await fork.append({ role: 'user', content: 'other' })
      await chat.append({ role: 'assistant', content: 'd' })
      expect(await shown(fork)).toEqual([0, 1, 3])
      expect(await shown(chat)).toEqual([0, 1, 2, 3])
      expect((await fork.timeline()).map(({ event }) => event.type)).toEqual([
        'MessageAppended',
        'MessageAppended',
        'Forked',
        'MessageAppended',
      ])
      expect(await fork.verify()).toEqual({
        conversation: 'f',
        events: 2,
        inherited: { events: 2, from: 'c' },
      })
    })

    test('can be forked, also at a position that it has from its parent, and rewound to before its own beginning', async () => {
      const chat = await begun('a', 'b', 'c', 'd')
      const fork = await chat.fork('f', { at: 2 })
      await fork.append({ role: 'user', content: 'e' })
      const deep = await fork.fork('g', { at: 4 })
      const shallow = await fork.fork('h', { at: 0 })
      await deep.append({ role: 'user', content: 'f' })
      await shallow.append({ role: 'user', content: 'g' })
      expect(await shown(deep)).toEqual([0, 1, 2, 4, 6])
      expect(await shown(shallow)).toEqual([0, 2])
      await deep.rewind({ to: 1 })
      expect(await shown(deep)).toEqual([0, 1])
      expect(await deep.verify()).not.toHaveProperty('discrepancy')
      expect(await shallow.verify()).not.toHaveProperty('discrepancy')
      expect(await shown(await deep.fork('i'))).toEqual([0, 1])
    })
  })

  describe('reading', () => {
    test('a part of a position is out of range, and what is not there has no chain to verify', async () => {
      const none = (await opened()).conversation('none')
      for (const read of [none.verify, none.timeline])
        await expect(read()).rejects.toMatchObject({ _tag: 'ConversationNotFound', conversation: 'none' })
      await none.append({ role: 'user', content: 'x' })
      await expect(none.render({ at: 0.5 })).rejects.toMatchObject({ _tag: 'OutOfRange', last: 0 })
    })

    test('gives the newest entries alone, page by page, also across the beginning of a fork', async () => {
      const store = await opened()
      const chat = store.conversation('a')
      for (let n = 0; n < 6; n++) await chat.append({ role: 'user', content: `${n}` })
      const fork = await chat.fork('b', { at: 4 })
      await fork.append({ role: 'user', content: 'x' })
      await fork.condense({ summary: 'S.', covers: { first: 2, last: 3 } })
      const all = await fork.full()
      const last = await fork.full({ last: 3 })
      expect(last).toEqual(all.slice(-3))
      expect(last.map(({ position }) => position)).toEqual([4, 6, 7])
      const before = await fork.full({ last: 3, before: 4 })
      expect(before).toEqual(all.slice(1, 4))
      expect(before.map(({ status }) => status)).toEqual(['active', 'condensed', 'condensed'])
      expect(await fork.full({ before: 2 })).toEqual(all.slice(0, 2))
      await fork.note({ kind: 'test/mark' })
      const noted = await fork.full({ last: 3, notes: true })
      expect(noted.map(({ kind }) => kind)).toEqual(['message', 'message', 'summary', 'note'])
      expect(await fork.full({ last: 3, before: 4, notes: true })).toEqual(before)
      expect(await fork.full({ last: 100 })).toEqual(all)
      for (const none of [0, 1.5, Infinity])
        await expect(fork.full({ last: none })).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'last' })
    })

    test("gives the last position, and every event as it is stored, those of a fork's parents first", async () => {
      const chat = await begun('a', 'b', 'c')
      const fork = await (await chat.fork('f', { at: 1 })).fork('g', { at: 0 })
      expect(await chat.position()).toBe(2)
      expect(await fork.position()).toBe(1)
      const stored: string[] = []
      for await (const { conversation, revision, type, data } of fork.stored()) {
        stored.push(`${conversation}${revision} ${type}`)
        expect(JSON.stringify(JSON.parse(data))).toBe(data)
      }
      const messages = ['c0', 'c1', 'c2'].map((place) => `${place} MessageAppended`)
      expect(stored).toEqual([...messages, 'f0 Forked', 'g0 Forked'])
    })

    test('all events of a store have one order, with the positions that they have in their conversations', async () => {
      const chat = await begun('a', 'b')
      const fork = await chat.fork('f', { at: 0 })
      await fork.append({ role: 'user', content: 'x' })
      const store = open.at(-1) as Store
      const all: string[] = []
      for await (const { conversation, event } of store.readAll())
        all.push(`${conversation}${event.position}`)
      expect(all).toEqual(['c0', 'c1', 'f1', 'f2'])
      const followed: string[] = []
      const stop = new AbortController()
      for await (const item of store.follow({ prefixes: ['f'], signal: stop.signal })) {
        if (item.type === 'event') followed.push(`${item.conversation}${item.event.position}`)
        if (followed.length === 2) stop.abort()
      }
      expect(followed).toEqual(['f1', 'f2'])
    })

    test("conversations are listed with a title of the user's first words, the one begun last first, or by id", async () => {
      const store = await opened()
      await store.conversation('b').append([
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: `Fix\n the ${'x'.repeat(100)}` },
      ])
      await store
        .conversation('a')
        .append({ role: 'user', content: 'Why?' }, { now: new Date('2026-01-02T03:04:05Z') })
      await (await store.conversation('b').fork('c')).append({ role: 'user', content: 'later' })
      const all = []
      for await (const each of store.conversations({ sort: 'id' })) all.push(each)
      const ids = []
      for await (const { id } of store.conversations()) ids.push(id)
      expect(ids).toEqual(['c', 'a', 'b'])
      const some = []
      for await (const { id } of store.conversations({ beginning: 'b' })) some.push(id)
      expect(some).toEqual(['b'])
      expect(all.map(({ id, messages, events }) => [id, messages, events])).toEqual([
        ['a', 1, 1],
        ['b', 2, 2],
        ['c', 3, 4],
      ])
      expect(all[0]).toMatchObject({ title: 'Why?', updated: '2026-01-02T03:04:05.000Z' })
      expect(all[1]?.title).toMatch(/^Fix the x+…$/)
      expect(all[1]?.title).toHaveLength(80)
      expect(all[2]?.title).toBe(all[1]?.title)
    })
  })

  describe('what is recorded of a command', () => {
    test('is who, when, and as part of what', async () => {
      const chat = (await opened()).conversation('c')
      const now = new Date('2026-01-02T03:04:05.678Z')
      const options = {
        commandId: 'one',
        actor: { kind: 'agent', id: 'a7' },
        now,
        correlationId: 'job',
        causationId: 'task',
      }
      await chat.append({ role: 'user', content: 'x' }, options)
      await chat.append({ role: 'user', content: 'y' })
      const [first, second] = (await chat.timeline()).map(({ event }) => event.metadata)
      expect(first).toEqual({
        salt: expect.stringMatching(/^[\w-]{22}$/) as string,
        schema: 1,
        time: now.toISOString(),
        actor: { kind: 'agent', id: 'a7' },
        commandId: 'one',
        $correlationId: 'job',
        $causationId: 'task',
        prev: null,
      })
      expect(second).toMatchObject({
        actor: { kind: 'program' },
        prev: expect.stringMatching(/^[0-9a-f]{64}$/),
      })
      const bad = [{ commandId: '' }, { actor: {} }, { now: new Date('never') }, { now: 'today' }] as never[]
      for (const option of bad)
        await expect(chat.append({ role: 'user', content: 'x' }, option)).rejects.toMatchObject({
          _tag: 'InvalidInput',
        })
    })
  })
})

test("two processes' worth of handles on one file see each other's writes, and conflicts are decided anew", async () => {
  const url = urls['sqlite']?.() ?? ''
  const [one, other] = [await openStore(url), await openStore(url)]
  const chats = [one.conversation('c'), other.conversation('c')] as const
  await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      chats[n % 2 === 0 ? 0 : 1].append({ role: 'user', content: `${n}` }),
    ),
  )
  expect(await chats[0].full()).toHaveLength(60)
  await chats[0].rewind({ to: 3 })
  expect(await chats[1].effective()).toHaveLength(4)
  await one.close()
  await other.close()
})

test.each([
  ['mysql://host:5432/db', 'mysql'],
  ['mysql://me:secret@host/db', 'mysql'],
  ['mysql://me:secret', 'mysql'],
  ['mysql://host/db?password=secret', 'mysql'],
  ['localhost:2113', 'localhost'],
  ['me:secret@host:2113', 'me'],
])(
  'a scheme without a store is refused without repeating what may be credentials: %s',
  async (url, scheme) => {
    const error = await openStore(url).then(
      () => undefined,
      (refused: unknown) => refused,
    )
    expect(error).toMatchObject({ _tag: 'UnknownScheme', scheme })
    expect(JSON.stringify([error, String(error)])).not.toMatch(/secret|\/\/|2113/)
  },
)

test.each([
  ['conversations.db', 'conversations.db: for a file, write sqlite:conversations.db'],
  ['secret@host', 'this text'],
])(
  'a text that is no store’s URL is refused without repeating what may be credentials: %s',
  async (url, told) => {
    await expect(openStore(url)).rejects.toThrow(new RegExp(`, not ${told.replaceAll('.', '\\.')}$`))
  },
)
