import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import { workerOf } from '../../../src/events/ids.ts'
import {
  type Conversation,
  copyConversations,
  type EventStore,
  isError,
  openStore,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolUse } from '../../support/log.ts'
import { stores } from '../../support/stores.ts'

const names = ['look', 'save', 'pay', 'gift'] as const
const use = (name: string): AnyBlock => ({ ...toolUse(name), name })
const tools = names.map((name) => ({ name, input_schema: { type: 'object' } }))

/** A store whose process dies with its n-th append, right before it or right after. Nothing can be done with it then. */
const dying = (store: EventStore, n: number, isAfter: boolean): EventStore => {
  let appends = 0
  const dead = E.left({ _tag: 'StoreClosed', message: 'the process has died', store: store.url } as const)
  return {
    ...store,
    append: (request) => async () => {
      // When it says that it lives depends on how fast the machine is: that does not count.
      if (workerOf(request.stream) !== undefined) return appends > n ? dead : store.append(request)()
      const nth = appends++
      if (nth > n || (nth === n && !isAfter)) return dead
      const written = await store.append(request)()
      return nth === n ? dead : written
    },
    read: (range) => async () => (appends > n ? dead : store.read(range)()),
  }
}

/** What the model has asked for, and what was really done. */
const scene = async () => {
  const api = await messagesApi({
    reply: ({ messages }) => ({ content: messages.length === 1 ? names.map(use) : [text('Done.')] }),
  })
  atEnd(api.close)
  const store = memoryStore()
  const done = new Map<string, readonly string[]>()
  let isApproved = false
  const act =
    (name: string) =>
    (_: unknown, { key }: { readonly key: string }) => {
      expect(name === 'gift' && !isApproved).toBe(false)
      done.set(name, [...(done.get(name) ?? []), key])
      return `${name} done`
    }
  const run = {
    look: { run: act('look'), effect: 'none' as const },
    save: { run: act('save'), idempotent: true },
    pay: act('pay'),
    gift: { run: act('gift'), approve: true },
  }
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  const handle = async (source: EventStore): Promise<Conversation> =>
    (await openStore(source)).conversation('c')
  return {
    api,
    store,
    done,
    handle,
    turn: (chat: Conversation) => chat.turn({ client, model: 'claude-opus-5-5', tools, run, ttl: 200 }),
    approve: async (chat: Conversation) => {
      await chat.approve('gift', { by: 'ann' })
      isApproved = true
    },
  }
}

/** A repeatable tool that was approved with another input, and then started. */
const giftStarted = async () => {
  const api = await messagesApi({
    reply: ({ messages }) => ({ content: messages.length === 1 ? [use('gift')] : [text('Done.')] }),
  })
  atEnd(api.close)
  const store = memoryStore()
  const done: object[] = []
  const run = {
    gift: {
      run: (input: object, { key }: { readonly key: string }) => {
        done.push({ key, input })
        return 'given'
      },
      idempotent: true,
      approve: true,
    },
  }
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  const turn = (chat: Conversation) => chat.turn({ client, model: 'claude-opus-5-5', tools, run, ttl: 200 })
  const first = (await openStore(store)).conversation('c')
  await first.append({ role: 'user', content: 'Give it.' })
  await turn(first)
  await first.approve('gift', { by: 'ann', input: { sum: 5 } })
  // Its appends: the claim, and what is started.
  await turn((await openStore(dying(store, 1, true))).conversation('c')).catch(() => undefined)
  expect(done).toEqual([])
  return { first, done, turn }
}

const resultsOf = async (chat: Conversation): Promise<ReadonlyMap<string, unknown>> =>
  new Map(
    (await chat.effective()).flatMap((item) =>
      item.kind === 'message'
        ? item.content.flatMap((block) =>
            block.type === 'tool_result'
              ? [[block['tool_use_id'], block['content']] as [string, unknown]]
              : [],
          )
        : [],
    ),
  )

describe('a process that dies in a turn', () => {
  const moments = Array.from({ length: 9 }, (_, n) => [false, true].map((isAfter) => ({ n, isAfter }))).flat()

  it.each(moments)(
    'with append $n (after it: $isAfter): no effect comes twice or unapproved, and what never began is run',
    async ({ n, isAfter }) => {
      const { api, store, done, handle, turn, approve } = await scene()
      await (await handle(store)).append({ role: 'user', content: 'Do it all.' })
      const mortal = await handle(dying(store, n, isAfter))
      // What a person does in between is done elsewhere, and lasts.
      await turn(mortal).catch(() => undefined)
      const before = await handle(store)
      const isWaiting = (await before.waiting()).length > 0
      if (isWaiting) await approve(before)
      await turn(mortal).catch(() => undefined)
      for (let isOver = false; !isOver;) {
        const next = await handle(store)
        const turned = await turn(next).catch((error: unknown) => {
          if (!isError(error, 'NothingToAnswer')) throw error
        })
        isOver = !turned || turned.waiting.length === 0
        if (!isOver) await approve(next)
      }
      const chat = await handle(store)
      const results = await resultsOf(chat)
      expect([...results.keys()].toSorted()).toEqual([...names].toSorted())
      for (const name of ['pay', 'gift']) {
        const keys = done.get(name) ?? []
        expect(keys.length).toBeLessThanOrEqual(1)
        expect(results.get(name)).toBe(
          keys.length === 1 && !String(results.get(name)).includes('interrupted')
            ? `${name} done`
            : 'This call was interrupted: whether it took effect is not known.',
        )
      }
      expect(new Set(done.get('save')).size).toBe(1)
      for (const name of ['look', 'save']) expect(results.get(name)).toBe(`${name} done`)
      expect(api.requests.map(({ status }) => status)).toEqual(api.requests.map(() => 200))
      expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
    },
  )

  it('right before it begins a tool leaves that to the next one', async () => {
    const { store, done, handle, turn } = await scene()
    await (await handle(store)).append({ role: 'user', content: 'Do it all.' })
    // Appends: the configuration, the stream of turns, the reply, what is started.
    await turn(await handle(dying(store, 3, false))).catch(() => undefined)
    expect([...done.keys()]).toEqual([])
    await turn(await handle(store))
    expect([...done.keys()].toSorted()).toEqual(['look', 'pay', 'save'])
  })

  it('after it has begun an unsafe tool: nobody runs it again, and the model is told', async () => {
    const { store, done, handle, turn } = await scene()
    await (await handle(store)).append({ role: 'user', content: 'Do it all.' })
    await turn(await handle(dying(store, 3, true))).catch(() => undefined)
    expect([...done.keys()]).toEqual([])
    await turn(await handle(store))
    expect([...done.keys()].toSorted()).toEqual(['look', 'save'])
    expect((await resultsOf(await handle(store))).get('pay')).toContain('interrupted')
  })
})

describe('calls that a fork has of its parent', () => {
  const forkAfter = async (isStarted: boolean) => {
    const all = await scene()
    const { store, handle, turn } = all
    const first = await handle(store)
    await first.append({ role: 'user', content: 'Do it all.' })
    await turn(await handle(dying(store, 3, isStarted))).catch(() => undefined)
    return { ...all, first }
  }

  it.each([
    { isStarted: false, says: 'it waits in the conversation this was forked from' },
    { isStarted: true, says: 'whether it took effect is not known' },
  ])(
    'are left to that if they are unsafe: the model is told what is known (started there: $isStarted)',
    async ({ isStarted, says }) => {
      const { first, done, turn } = await forkAfter(isStarted)
      const chat = await first.fork('second')
      await turn(chat)
      expect([...done.keys()].toSorted()).toEqual(['look', 'save'])
      expect((await resultsOf(chat)).get('pay')).toContain(says)
    },
  )

  it('are begun anew, each branch for itself, if they were not started there', async () => {
    const { first, done, turn } = await forkAfter(false)
    await turn(await first.fork('second'))
    await turn(first)
    expect(done.get('save')).toEqual(['second/2/save', 'c/2/save'])
  })

  it.each([1, 2])(
    'are repeated under the key under which they were started, in a fork of degree %i',
    async (degree) => {
      const { first, done, turn } = await forkAfter(true)
      let chat = first
      for (let n = 1; n <= degree; n++) {
        chat = await chat.fork(`fork-${n}`)
        await chat.append({ role: 'user', content: 'Note this.' })
        await chat.rewind({ turns: 1 })
      }
      await turn(chat)
      await turn(first)
      expect(done.get('save')).toEqual(['c/2/save', 'c/2/save'])
    },
  )

  it('are asked about anew although somebody has approved them there, and run under a key of their own', async () => {
    const { first, done, turn } = await giftStarted()
    const second = await first.fork('second')
    expect((await turn(second)).waiting).toMatchObject([{ call: 'gift' }])
    expect(await second.waiting()).toMatchObject([{ call: 'gift', started: expect.any(String) }])
    expect(done).toEqual([])
    await second.approve('gift', { by: 'bob' })
    await turn(second)
    await turn(first)
    expect(done).toEqual([
      { key: 'second/2/gift', input: {} },
      { key: 'c/2/gift', input: { sum: 5 } },
    ])
  })
})

describe.each(Object.entries(stores))('a turn that continues in a copy, a %s store', (_, open) => {
  it.each([
    { isStarted: false, ran: ['look', 'pay', 'save'] },
    { isStarted: true, ran: ['look', 'save'] },
  ])('runs what has effects only if it was not started (it was: $isStarted)', async ({ isStarted, ran }) => {
    const { store, done, handle, turn, approve } = await scene()
    await (await handle(store)).append({ role: 'user', content: 'Do it all.' })
    await turn(await handle(dying(store, 3, isStarted))).catch(() => undefined)
    const to = await open()
    atEnd(to.close())
    await copyConversations({ from: store, to })
    const copy = await handle(to)
    const { waiting } = await turn(copy)
    expect([...done.keys()].toSorted()).toEqual(ran)
    expect(waiting.map(({ call }) => call)).toEqual(['gift'])
    await approve(copy)
    await turn(copy)
    expect(done.get('gift')).toHaveLength(1)
  })

  it('keeps what was approved, and does not wait for who has the original', async () => {
    const { store, done, handle, turn, approve } = await scene()
    const original = await handle(store)
    await original.append({ role: 'user', content: 'Do it all.' })
    await turn(original)
    await approve(original)
    const to = await open()
    atEnd(to.close())
    await copyConversations({ from: store, to })
    const turned = await turn(await handle(to))
    expect(turned.ended).toBe('stop')
    expect(done.get('gift')).toHaveLength(1)
    expect(await (await handle(to)).verify()).not.toHaveProperty('discrepancy')
  })
})
