import { describe, expect, test } from 'vitest'
import type { Block, CommandInput, Conversation, Entry, FullOptions } from '../../src/index.ts'
import { text } from '../support/log.ts'
import { imageOf, png } from '../support/pictures.ts'

// What a conversation must do, in the library and over HTTP: one suite for both.

type Methods = 'append' | 'configure' | 'condense' | 'truncate' | 'restore' | 'rewind' | 'undo' | 'execute'
type Reads = 'id' | 'exists' | 'position' | 'effective' | 'render' | 'diff' | 'events' | 'waiting'

/** A conversation, as far as it is the same over HTTP. */
export interface Talk extends Pick<Conversation, Methods | Reads> {
  readonly full: (options?: FullOptions) => Promise<readonly Entry[]>
  readonly preview: (command: CommandInput) => Promise<unknown>
  readonly cancel: () => Promise<void>
  readonly fork: (
    id: string,
    options?: { readonly at?: number; readonly commandId?: string },
  ) => Promise<Talk>
}
/** A store of conversations, or a client of one. */
export interface Talks {
  readonly conversation: (id: string) => Talk
}

/** @param opened opens an empty store */
export const conversationContract = (opened: () => Promise<Talks>): void => {
  const begun = async (...texts: readonly string[]): Promise<Talk> => {
    const chat = (await opened()).conversation('c')
    await chat.append(
      texts.map((content, n) => ({
        role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content,
      })),
    )
    return chat
  }
  const shown = async (chat: Talk, at?: number): Promise<readonly number[]> =>
    (await chat.effective(at === undefined ? {} : { at })).map(({ position }) => position)

  describe('appending', () => {
    test('takes a system message without content, as the API does, and no other', async () => {
      const chat = (await opened()).conversation('c')
      await chat.append([{ role: 'user', content: 'a' }, { role: 'system' }])
      expect(await chat.effective()).toMatchObject([{ role: 'user' }, { role: 'system', content: [] }])
      const none: object = { role: 'user', content: undefined }
      await expect(chat.append(none as { role: 'user'; content: '' })).rejects.toMatchObject({
        _tag: 'InvalidInput',
        path: 'messages[0].content',
      })
    })

    test('takes one message or several, of which all are written or none', async () => {
      const chat = (await opened()).conversation('c')
      expect(await chat.append({ role: 'user', content: 'a' })).toMatchObject({
        conversation: 'c',
        position: 0,
      })
      const { position, events } = await chat.append([
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ])
      expect(position).toBe(2)
      expect(events.map((event) => event.position)).toEqual([1, 2])
      const broken = [
        { role: 'assistant', content: 'd' },
        { role: 'nobody', content: 'e' },
      ] as never
      await expect(chat.append(broken)).rejects.toMatchObject({
        _tag: 'InvalidInput',
        path: 'messages[1].role',
      })
      expect(await shown(chat)).toEqual([0, 1, 2])
    })

    test('refuses a picture that no model takes, wherever it is, and says what to do', async () => {
      const chat = (await opened()).conversation('c')
      const large = imageOf(png(9_000, 20))
      const refusal = {
        _tag: 'InvalidInput',
        message: expect.stringMatching(/it has 9000 × 20 pixels, and a side may have 8000\. Scale it down/),
      }
      const paths: readonly (readonly [readonly Block[], string])[] = [
        [[large], 'messages[0].content[0]'],
        [
          [text('See.'), { type: 'tool_result', tool_use_id: 'a', content: [large] }],
          'messages[0].content[1].content[0]',
        ],
        [
          [{ type: 'document', source: { type: 'content', content: [text('See.'), large] } }],
          'messages[0].content[0].source.content[1]',
        ],
      ]
      for (const [content, path] of paths) {
        const message = { role: 'user', content } as const
        const command = { type: 'append', messages: [message] } as const
        const refused = { ...refusal, path }
        await expect(chat.append(message)).rejects.toMatchObject(refused)
        await expect(chat.execute(command)).rejects.toMatchObject(refused)
        await expect(chat.preview(command)).rejects.toMatchObject(refused)
      }
      await expect(
        chat.append([
          { role: 'user', content: 'See.' },
          { role: 'user', content: [imageOf(png(40, 30, 4_000_000))] },
        ]),
      ).rejects.toMatchObject({ path: 'messages[1].content[0]', message: expect.stringContaining('5242880') })
      expect((await chat.append({ role: 'user', content: [imageOf(png(8_000, 20))] })).position).toBe(0)
    })

    test('keeps the order in which it was asked, without waiting in between', async () => {
      const chat = (await opened()).conversation('c')
      const all = Array.from({ length: 50 }, (__, n) => chat.append({ role: 'user', content: `${n}` }))
      expect((await Promise.all(all)).map(({ position }) => position)).toEqual(all.map((__, n) => n))
      const texts = (await chat.full()).map((entry) => entry.kind === 'message' && entry.content[0]?.['text'])
      expect(texts).toEqual(all.map((__, n) => `${n}`))
    })

    test('shares nothing with the caller: what is changed afterwards is not changed in the store', async () => {
      const chat = (await opened()).conversation('c')
      const content = [{ type: 'text' as const, text: 'before' }]
      const appending = chat.append({ role: 'user', content })
      content[0] = { type: 'text', text: 'after' }
      await appending
      expect((await chat.render()).messages[0]?.content).toEqual([{ type: 'text', text: 'before' }])
    })

    test('is refused after anything happened behind the position that the reply was computed from', async () => {
      const chat = await begun('a', 'b', 'c')
      const reply = { role: 'assistant', content: 'late' } as const
      await expect(chat.append(reply, { after: 1 })).rejects.toMatchObject({
        _tag: 'StaleContext',
        after: 1,
        last: 2,
      })
      // A rewind and its undo bring the old head back, yet something happened.
      await chat.rewind({ to: 1 })
      await chat.undo()
      await expect(chat.append(reply, { after: 2 })).rejects.toMatchObject({ _tag: 'StaleContext' })
      await expect(chat.append(reply, { after: 99 })).rejects.toMatchObject({ _tag: 'StaleContext' })
      expect(await chat.append(reply, { after: 4 })).toMatchObject({ position: 5 })
    })

    test('tolerates markers that came since, where it is told to, and nothing else', async () => {
      const chat = await begun('a', 'b', 'c', 'd')
      await chat.truncate({ covers: { first: 1, last: 2 } })
      await chat.restore({ marker: 4 })
      await expect(chat.append({ role: 'user', content: 'x' }, { after: 3 })).rejects.toMatchObject({
        _tag: 'StaleContext',
      })
      await chat.append({ role: 'user', content: 'x' }, { after: 3, tolerate: 'markers' })
      await expect(
        chat.append({ role: 'user', content: 'x' }, { after: 3, tolerate: 'markers' }),
      ).rejects.toMatchObject({ _tag: 'StaleContext' })
    })
  })

  describe('a repeated command', () => {
    test('writes nothing and answers as the first time, whatever happened since', async () => {
      const chat = await begun('a', 'b', 'c', 'd', 'e')
      const messages = [
        { role: 'user', content: 'x' },
        { role: 'user', content: 'y' },
      ] as const
      const first = await chat.append(messages, { commandId: 'one' })
      const marker = await chat.truncate({ fraction: 0.5, commandId: 'two' })
      const rewound = await chat.rewind({ to: 1, commandId: 'three' })
      await chat.append({ role: 'assistant', content: 'z' })
      expect(await chat.append(messages, { commandId: 'one' })).toEqual(first)
      expect(await chat.truncate({ fraction: 0.5, commandId: 'two' })).toEqual(marker)
      expect(await chat.rewind({ to: 1, commandId: 'three' })).toEqual(rewound)
      expect(await chat.position()).toBe(9)
    })

    test('is one command, also when both are sent at once', async () => {
      const chat = (await opened()).conversation('c')
      const both = [1, 2].map(() => chat.append({ role: 'user', content: 'x' }, { commandId: 'same' }))
      const [one, other] = await Promise.all(both)
      expect(one).toEqual(other)
      expect(await chat.full()).toHaveLength(1)
    })

    test('is a command of its conversation: another may use the same id', async () => {
      const store = await opened()
      for (const id of ['c', 'd'])
        await store.conversation(id).append({ role: 'user', content: id }, { commandId: 'same' })
      expect(await store.conversation('d').full()).toHaveLength(1)
    })
  })

  describe('configuring', () => {
    test('changes what is given, keeps the rest, takes away what is null, and writes nothing where nothing changes', async () => {
      const chat = (await opened()).conversation('c')
      await chat.configure({ system: 'Be brief.', model: 'm1' })
      await chat.configure({ model: 'm2' })
      expect(await chat.render()).toMatchObject({ system: 'Be brief.' })
      expect(await chat.configure({ model: 'm2' })).toEqual({ conversation: 'c', position: 1, events: [] })
      await chat.configure({ system: null })
      expect(await chat.render()).not.toHaveProperty('system')
      const configured = []
      for await (const { data } of chat.events()) configured.push(data)
      expect(configured).toEqual([
        { system: 'Be brief.', model: 'm1' },
        { system: 'Be brief.', model: 'm2' },
        { model: 'm2' },
      ])
    })
  })

  describe('a fork', () => {
    test('has the history of its parent up to a position, and its own after that', async () => {
      const chat = await begun('a', 'b', 'c', 'd')
      const fork = await chat.fork('f', { at: 2 })
      await fork.append({ role: 'user', content: 'e' })
      const deep = await fork.fork('g', { at: 4 })
      await deep.append({ role: 'user', content: 'f' })
      expect(await shown(deep)).toEqual([0, 1, 2, 4, 6])
      await deep.rewind({ to: 1 })
      expect(await shown(deep)).toEqual([0, 1])
      expect(await shown(chat)).toEqual([0, 1, 2, 3])
    })

    test('keeps markers of its parent: they can be restored in it without touching the parent', async () => {
      const chat = await begun('a', 'b', 'c', 'd')
      await chat.condense({ covers: { first: 1, last: 2 }, summary: 's' })
      const fork = await chat.fork('f')
      await fork.restore({ marker: 4 })
      expect(await shown(fork)).toEqual([0, 1, 2, 3])
      expect(await shown(chat)).toEqual([0, 4, 3])
    })

    test('is refused where the id is taken or the position is not there; repeated, it is the same fork', async () => {
      const chat = await begun('a', 'b')
      await chat.fork('f', { at: 0, commandId: 'fork' })
      await expect(chat.fork('f', { at: 1 })).rejects.toMatchObject({
        _tag: 'ConversationExists',
        conversation: 'f',
      })
      await expect(chat.fork('g', { at: 9 })).rejects.toMatchObject({
        _tag: 'OutOfRange',
        position: 9,
        last: 1,
      })
      await expect(chat.fork('no good')).rejects.toMatchObject({ _tag: 'InvalidInput' })
      expect((await chat.fork('f', { at: 0, commandId: 'fork' })).id).toBe('f')
      const store = await opened()
      await expect(store.conversation('x').fork('y')).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
    })
  })

  describe('reading', () => {
    test('gives the newest entries alone, page by page, also across the beginning of a fork', async () => {
      const chat = (await opened()).conversation('a')
      for (let n = 0; n < 6; n++) await chat.append({ role: 'user', content: `${n}` })
      const fork = await chat.fork('b', { at: 4 })
      await fork.append({ role: 'user', content: 'x' })
      await fork.condense({ summary: 'S.', covers: { first: 2, last: 3 } })
      const all = await fork.full()
      expect(all.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4, 6, 7])
      expect(await fork.full({ last: 3 })).toEqual(all.slice(-3))
      expect(await fork.full({ last: 3, before: 4 })).toEqual(all.slice(1, 4))
      expect(await fork.full({ before: 2 })).toEqual(all.slice(0, 2))
      expect(await fork.full({ last: 100 })).toEqual(all)
      for (const none of [0, 1.5, Infinity])
        await expect(fork.full({ last: none })).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'last' })
    })

    test('answers ConversationNotFound and OutOfRange, never an empty history', async () => {
      const store = await opened()
      const none = store.conversation('none')
      const reads = [
        () => none.position(),
        () => none.effective(),
        () => none.full(),
        () => none.render(),
        () => none.diff({ from: 0 }),
      ]
      for (const read of reads)
        await expect(read()).rejects.toMatchObject({ _tag: 'ConversationNotFound', conversation: 'none' })
      await expect(none.truncate({ fraction: 0.5 })).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
      await expect(none.undo()).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
      await none.append({ role: 'user', content: 'x' })
      const beyond = [
        () => none.effective({ at: 1 }),
        () => none.full({ at: 1 }),
        () => none.diff({ from: 0, to: 4 }),
        () => none.render({ at: 7 }),
      ]
      for (const read of beyond) await expect(read()).rejects.toMatchObject({ _tag: 'OutOfRange', last: 0 })
      expect(await none.effective({ at: -1 })).toEqual([])
    })

    test('finds nothing that waits in a conversation that has not begun, and nothing to cancel', async () => {
      const none = (await opened()).conversation('none')
      expect(await none.exists()).toBe(false)
      expect(await none.waiting()).toEqual([])
      await none.cancel()
      expect(await none.exists()).toBe(false)
      await none.append({ role: 'user', content: 'x' })
      expect(await none.exists()).toBe(true)
      expect(await none.position()).toBe(0)
    })

    test('names the id that was meant', async () => {
      const store = await opened()
      const id = 'the-parser-5f0c9a7e'
      await store.conversation(id).append({ role: 'user', content: 'x' })
      await store.conversation(`${id}:explorer`).append({ role: 'user', content: 'x' })
      for (const slip of ['the-parser-5f0c', 'The-parser-5f0c9a7e', 'the-praser-5f0c9a7e']) {
        const chat = store.conversation(slip)
        for (const ask of [
          chat.effective,
          () => chat.undo(),
          () => chat.events()[Symbol.asyncIterator]().next(),
        ])
          await expect(ask()).rejects.toThrow(
            `there is no conversation ${slip} in this store: did you mean ${id}?`,
          )
      }
      await expect(store.conversation('something-else').effective()).rejects.toThrow(
        /^there is no conversation something-else in this store$/,
      )
    })

    test('an id that cannot be is InvalidInput of every method', async () => {
      const store = await opened()
      for (const id of ['', 'a b', 'ä', 'x'.repeat(201), 'a/b'])
        await expect(store.conversation(id).append({ role: 'user', content: 'x' })).rejects.toMatchObject({
          _tag: 'InvalidInput',
        })
      await store.conversation('x'.repeat(200)).append({ role: 'user', content: 'x' })
      await store.conversation('A-z.0_9:').append({ role: 'user', content: 'x' })
    })

    test('events come in order from a position on, and go on when they are followed', async () => {
      const chat = await begun('a', 'b', 'c')
      const fork = await chat.fork('f', { at: 1 })
      const seen: number[] = []
      const stop = new AbortController()
      const following = (async () => {
        for await (const { position } of fork.events({ from: 1, follow: true, signal: stop.signal })) {
          seen.push(position)
          if (position === 4) stop.abort()
        }
      })()
      await fork.append({ role: 'user', content: 'x' })
      await chat.append({ role: 'user', content: 'not of the fork' })
      await fork.append({ role: 'user', content: 'y' })
      await following
      expect(seen).toEqual([1, 2, 3, 4])
      const some: number[] = []
      for await (const { position } of fork.events({ from: 1, to: 3 })) some.push(position)
      expect(some).toEqual([1, 2, 3])
    })
  })

  describe('a command that is data', () => {
    const hello = { role: 'user', content: 'a' } as const

    test('does what the method of its name does', async () => {
      const chat = (await opened()).conversation('c')
      const messages = [hello, { role: 'assistant', content: 'b' }, { role: 'system' }, hello] as const
      expect(await chat.execute({ type: 'append', messages })).toMatchObject({ position: 3 })
      await chat.execute({ type: 'configure', model: 'm' })
      const covers = { first: 1, last: 2 }
      expect(await chat.execute({ type: 'condense', covers, summary: 's' })).toMatchObject({
        conversation: 'c',
        position: 5,
        events: [{ type: 'Condensed' }],
      })
      expect(await shown(chat)).toEqual([0, 5, 3])
      await chat.execute({ type: 'restore', marker: 5 })
      await chat.execute({ type: 'truncate', covers })
      expect(await shown(chat)).toEqual([0, 7, 3])
      await chat.execute({ type: 'undo' })
      await chat.execute({ type: 'rewind', to: 1 })
      expect(await shown(chat)).toEqual([0, 1])
    })

    test('comes to pass once under its id, and in the order in which it was given', async () => {
      const chat = (await opened()).conversation('c')
      const first = chat.execute({ type: 'append', messages: [hello], commandId: 'once' })
      const then = chat.append({ role: 'assistant', content: 'b' })
      expect([(await first).position, (await then).position]).toEqual([0, 1])
      expect(await chat.execute({ type: 'append', messages: [hello], commandId: 'once' })).toEqual(
        await first,
      )
      expect(await chat.position()).toBe(1)
    })

    test('is refused as that method refuses, or for a type that there is not', async () => {
      const chat = await begun('a', 'b')
      const refused: readonly (readonly [object, object])[] = [
        [
          { type: 'restore', marker: 1 },
          { _tag: 'NotShown', position: 1 },
        ],
        [{ type: 'undo' }, { _tag: 'NothingToUndo' }],
        [
          { type: 'append', messages: [hello], after: 0 },
          { _tag: 'StaleContext', last: 1 },
        ],
        [
          { type: 'append', messages: [] },
          { _tag: 'InvalidInput', path: 'messages' },
        ],
        [{ type: 'truncate', keepfirst: 1 }, { _tag: 'InvalidInput' }],
        [{ type: 'fly' }, { _tag: 'InvalidInput', path: 'type' }],
        [{}, { _tag: 'InvalidInput', path: 'type' }],
      ]
      for (const [command, error] of refused)
        await expect(chat.execute(command as never)).rejects.toMatchObject(error)
      expect(await chat.position()).toBe(1)
    })
  })

  test('a mistake in an option is named, not passed over', async () => {
    const chat = await begun('a', 'b', 'c')
    await expect(chat.truncate({ keepfirst: 1 } as never)).rejects.toThrow('keepfirst')
    const both = { covers: { first: 0, last: 1 }, fraction: 0.5 } as never
    await expect(chat.truncate(both)).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'covers' })
    await expect(chat.truncate({ fraction: 2 })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'fraction',
    })
    await expect(chat.rewind({} as never)).rejects.toThrow('exactly one of to, before, turns')
    await expect(chat.condense({ summary: ' ' })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'summary',
    })
  })
}
