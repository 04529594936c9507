import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { AnyBlock } from '../../src/events/blocks.ts'
import { type Conversation, copyConversations, type EventStore, isError, openStore } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { atEnd } from '../support/at-end.ts'
import { text, toolUse } from '../support/log.ts'

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
    turn: (chat: Conversation) => chat.turn({ client, model: 'claude-opus-5-5', tools, run }),
    approve: async (chat: Conversation) => {
      await chat.approve('gift', { by: 'ann' })
      isApproved = true
    },
  }
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

describe('calls of a reply whose writer records starts elsewhere', () => {
  it.each(['fork', 'copy'] as const)('in a %s nobody knows whether they took effect', async (way) => {
    const { store, done, handle, turn } = await scene()
    const first = await handle(store)
    await first.append({ role: 'user', content: 'Do it all.' })
    await turn(await handle(dying(store, 3, false))).catch(() => undefined)
    const other = memoryStore()
    if (way === 'copy') await copyConversations({ from: store, to: other })
    const chat = way === 'fork' ? await first.fork('second') : await handle(other)
    await turn(chat)
    expect([...done.keys()].toSorted()).toEqual(['look', 'save'])
    expect((await resultsOf(chat)).get('pay')).toContain('interrupted')
  })
})
