import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type Conversation,
  copyConversations,
  isError,
  openStore,
  tool,
  type TurnOptions,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'
import { isBlock } from '../../../src/events/blocks.ts'

// Forks and rewinds of conversations whose calls wait: the scenes of LangGraph's pull request 7498, where an interrupt fires again.

type Effect = 'none' | 'idempotent' | 'unsafe'
const effects = ['none', 'idempotent', 'unsafe'] as const

/** A model that removes a file, beside the other calls given, and then says so. */
const scene = async (effect: Effect = 'unsafe', others: readonly string[] = []) => {
  const names = ['rm', ...others]
  const api = await messagesApi({
    reply: ({ messages }) => ({
      content:
        messages.length === 1
          ? names.map((name) => ({ type: 'tool_use', id: name, name, input: { path: '/a' } }))
          : [text('Done.')],
    }),
  })
  atEnd(api.close)
  const source = memoryStore()
  const store = await openStore(source)
  const keys: string[] = []
  const rm = tool({
    name: 'rm',
    description: 'Removes a file.',
    input: z.object({ path: z.string() }),
    approve: true,
    effect,
    run: (_, { key }) => {
      keys.push(key)
      return 'removed'
    },
  })
  const look = tool({
    name: 'look',
    description: 'Lists files.',
    input: z.object({ path: z.string() }),
    effect: 'none',
    run: () => 'files',
  })
  const ask = { name: 'ask', input_schema: { type: 'object' } }
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const options = { client, model: 'claude-opus-5-5', tools: [rm, look, ask] }
  const turn = (chat: Conversation, more: Partial<TurnOptions> = {}) => chat.turn({ ...options, ...more })
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Go.' })
  const { position: reply } = await turn(chat)
  return { api, source, store, chat, options, turn, reply, keys }
}
const resultsOf = async (chat: Conversation): Promise<readonly unknown[]> =>
  (await chat.effective())
    .flatMap((item) => (item.kind === 'message' ? item.content : []))
    .flatMap((block) => (isBlock(block, 'tool_result') ? [block.content] : []))

describe.each(effects)('a fork where a call waits for an approval (effect %s)', (effect) => {
  it.each(['waits', 'was approved', 'was run', 'was denied'])(
    'asks anew, whatever became of it there: it %s',
    async (became) => {
      const { chat, turn, reply, keys } = await scene(effect)
      if (became === 'was denied') await chat.deny('rm', { by: 'ann' })
      if (['was approved', 'was run'].includes(became)) await chat.approve('rm', { by: 'ann' })
      if (became === 'was run') await turn(chat)
      const before = [...keys]
      const fork = await chat.fork('fork', { at: reply })
      expect(await turn(fork)).toMatchObject({ ended: 'waiting', waiting: [{ call: 'rm' }] })
      expect(await fork.waiting()).toMatchObject([
        { call: 'rm', why: 'approval', ...(became === 'was run' && { started: expect.any(String) }) },
      ])
      expect(keys).toEqual(before)
      await fork.approve('rm', { by: 'bob' })
      expect(await turn(fork)).toMatchObject({ ended: 'stop' })
      expect(keys).toEqual([...before, `fork/${reply}/rm`])
      expect(await resultsOf(fork)).toEqual(['removed'])
    },
  )

  it('is decided about for itself: the other answer there changes nothing here', async () => {
    const { chat, turn, keys } = await scene(effect)
    const fork = await chat.fork('fork')
    await turn(fork)
    await fork.deny('rm', { by: 'bob', reason: 'no' })
    await turn(fork)
    expect(await resultsOf(fork)).toEqual(['This call was denied by bob: no'])
    expect(await chat.waiting()).toMatchObject([{ call: 'rm' }])
    await chat.approve('rm', { by: 'ann' })
    await turn(chat)
    expect(keys).toHaveLength(1)
  })
})

describe.each(effects)('a rewind to a reply whose call was decided about (effect %s)', (effect) => {
  it.each(['approve', 'deny'] as const)(
    'withdraws the decision (%s): the next turn asks again',
    async (how) => {
      const { chat, turn, reply, keys } = await scene(effect)
      await chat[how]('rm', { by: 'ann' })
      await turn(chat)
      const ran = how === 'approve' ? 1 : 0
      await chat.rewind({ to: reply })
      await expect(chat.approve('rm', { by: 'bob' })).rejects.toMatchObject({
        _tag: 'NotWaiting',
        message: expect.stringContaining('the next turn asks again'),
      })
      expect(await turn(chat)).toMatchObject({ ended: 'waiting', waiting: [{ call: 'rm' }] })
      expect(keys).toHaveLength(ran)
      const again = (await chat.waiting()).filter(({ started }) => started !== undefined)
      expect(again).toHaveLength(ran)
    },
  )

  it('runs it again only on another approval, under another key', async () => {
    const { chat, turn, reply, keys } = await scene(effect)
    await chat.approve('rm', { by: 'ann' })
    await turn(chat)
    await chat.rewind({ to: reply })
    await turn(chat)
    await chat.approve('rm', { by: 'ann' })
    await turn(chat)
    expect(new Set(keys).size).toBe(2)
    expect(await chat.verify()).not.toHaveProperty('discrepancy')
  })

  it('tells the model of a denial that the call had been started before', async () => {
    const { chat, turn, reply } = await scene(effect)
    await chat.approve('rm', { by: 'ann' })
    await turn(chat)
    await chat.rewind({ to: reply })
    await turn(chat)
    await chat.deny('rm', { by: 'bob' })
    await turn(chat)
    expect((await resultsOf(chat))[0]).toMatch(/denied by bob.*had been started before.*not known/)
  })

  it.each([0, 1])('also where the rewind is to %i positions after the reply', async (after) => {
    const { chat, turn, reply, keys } = await scene(effect, ['look'])
    await chat.approve('rm', { by: 'ann' })
    await turn(chat)
    await chat.rewind({ to: reply + after })
    expect(await turn(chat)).toMatchObject({ waiting: [{ call: 'rm' }] })
    expect(keys).toHaveLength(1)
  })
})

describe('a rewind where a call waits', () => {
  it('lets it wait if nobody has decided: what was said since is what is gone', async () => {
    const { chat, turn, reply, keys } = await scene()
    await chat.append({ role: 'user', content: 'Stop.' })
    expect(await chat.waiting()).toEqual([])
    await chat.rewind({ to: reply })
    expect(await chat.waiting()).toMatchObject([{ call: 'rm' }])
    await chat.approve('rm', { by: 'ann' })
    await turn(chat)
    expect(keys).toHaveLength(1)
  })

  it('counts only where somebody goes back: what the user says while others run keeps decisions', async () => {
    const { chat, turn, keys } = await scene('unsafe', ['ask'])
    await chat.append({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'ask', content: 'yes' }],
    })
    await chat.approve('rm', { by: 'ann' })
    await chat.append({ role: 'user', content: 'Thanks.' })
    await turn(chat)
    expect(keys).toHaveLength(1)
  })
})

describe('a call that is handed back', () => {
  it('is left to the conversation that a fork was made of', async () => {
    const { chat, turn, reply } = await scene('unsafe', ['ask'])
    const fork = await chat.fork('fork', { at: reply })
    await turn(fork)
    await fork.deny('rm', { by: 'ann' })
    await turn(fork)
    expect(await resultsOf(fork)).toEqual([
      'This call was not carried out here; it waits in the conversation this was forked from.',
      'This call was denied by ann.',
    ])
    expect(await chat.waiting()).toHaveLength(2)
  })

  it('is told so as well where the user says something else in the fork', async () => {
    const { chat, turn } = await scene('unsafe', ['ask'])
    const fork = await chat.fork('fork')
    await fork.append({ role: 'user', content: 'Something else.' })
    await turn(fork)
    const left = 'This call was not carried out here; it waits in the conversation this was forked from.'
    expect(await resultsOf(fork)).toEqual([left, left])
  })

  it('is handed back again after a rewind to its reply', async () => {
    const { chat, turn, reply } = await scene('unsafe', ['ask'])
    const content = [{ type: 'tool_result' as const, tool_use_id: 'ask', content: 'yes' }]
    await chat.append({ role: 'user', content })
    await chat.rewind({ to: reply })
    const run = { ask: () => 'would be the second time' }
    expect(await turn(chat, { run })).toMatchObject({ pending: [{ call: 'ask' }] })
  })
})

describe('a worker', () => {
  it('that serves a fork asks there, and runs what is approved there', async () => {
    const { chat, store, options, keys } = await scene()
    const fork = await chat.fork('fork')
    await fork.request()
    const stop = new AbortController()
    const running = store.worker({ turn: () => options }).run({ signal: stop.signal })
    await vi.waitUntil(async () => (await fork.waiting()).length > 0, { timeout: 300_000 })
    await fork.approve('rm', { by: 'ann' })
    await vi.waitUntil(async () => (await resultsOf(fork)).length > 0, { timeout: 300_000 })
    stop.abort()
    await running
    expect(keys).toHaveLength(1)
    expect(await chat.waiting()).toMatchObject([{ call: 'rm' }])
  })
})

describe('a copy', () => {
  it('asks anew in its forks, and after its rewinds', async () => {
    const { chat, source, turn, reply, keys } = await scene('idempotent')
    await chat.approve('rm', { by: 'ann' })
    await turn(chat)
    const to = memoryStore()
    await copyConversations({ from: source, to })
    const store = await openStore(to)
    const fork = await store.conversation('c').fork('fork', { at: reply })
    expect(await turn(fork)).toMatchObject({ waiting: [{ call: 'rm' }] })
    await store.conversation('c').rewind({ to: reply })
    expect(await turn(store.conversation('c'))).toMatchObject({ waiting: [{ call: 'rm' }] })
    expect(keys).toHaveLength(1)
  })
})

describe('whatever the order of forks, rewinds and decisions', () => {
  const deed = fc.oneof(
    fc.constantFrom(
      'turn',
      'turn',
      'turn',
      'approve',
      'approve',
      'withdraw',
      'deny',
      'fork',
      'undo',
      'say',
      'bring',
    ),
    fc.nat(4).map((back) => ({ back })),
  )
  it('no tool runs twice on one approval, nor without one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...effects),
        fc.constantFrom([], ['look'], ['look', 'ask']),
        fc.array(deed, { minLength: 3, maxLength: 14, size: 'max' }),
        async (effect, others, deeds) => {
          const { chat, turn, keys } = await scene(effect, others)
          let now = chat
          let approvals = 0
          let forks = 0
          const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
            try {
              await work()
              return true
            } catch (error) {
              const expected = [
                'NotWaiting',
                'NotWithdrawn',
                'AlreadyDecided',
                'NothingToAnswer',
                'NothingToUndo',
                'NothingToRewind',
                'OutOfRange',
                'StaleContext',
              ]
              if (!expected.some((tag) => isError(error, tag as never))) throw error
              return false
            }
          }
          for (const each of deeds) {
            if (typeof each === 'object') {
              const to = Math.max(1, (await now.position()) - 1 - each.back)
              await attempt(() => now.rewind({ to }))
            } else if (each === 'turn') await attempt(() => turn(now))
            else if (each === 'undo') await attempt(() => now.undo())
            else if (each === 'say') await now.append({ role: 'user', content: 'Well?' })
            else if (each === 'fork') now = await now.fork(`fork-${++forks}`)
            else if (each === 'bring')
              await now.append({
                role: 'user',
                content: [{ type: 'tool_result', tool_use_id: 'ask', content: 'yes' }],
              })
            else if (await attempt(() => now[each]('rm', { by: 'ann' })))
              approvals += each === 'approve' ? 1 : each === 'withdraw' ? -1 : 0
            expect(keys.length).toBeLessThanOrEqual(approvals)
            expect(new Set(keys).size).toBe(keys.length)
          }
        },
      ),
      { numRuns: runs(100) },
    )
  })
})
