import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { liveHistory } from '../../../src/agent/turn/calls/live.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import type { Block } from '../../../src/events/blocks.ts'
import { type Conversation, openStore } from '../../../src/index.ts'
import { storeOn } from '../../../src/api/open.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { atEnd } from '../../support/at-end.ts'
import { run } from '../../../src/result/fallible.ts'
import { right } from '../../support/either.ts'
import { text, toolResult, toolUse } from '../../support/log.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'

// What random agent runs (test/e2e/agent-runs.test.ts) have found, each as small as it gets.

const thought: Block = { type: 'thinking', thinking: 'Hm.' }
const compaction: Block = { type: 'compaction', content: 'What came before.' }
const parameters = { thinking: { type: 'adaptive' } }
const task = { role: 'user' as const, content: 'Mend the parser.' }
const yes: ApiReply = { content: [text('Yes.')] }

/** A conversation with a task, and a model that says these replies, one a call. */
const scene = async (replies: readonly ((chat: Conversation) => Promise<ApiReply> | ApiReply)[]) => {
  const store = await openStore('memory:')
  const chat = store.conversation('c')
  const api = await messagesApi({ reply: (_, n) => replies[n]?.(chat) ?? yes })
  atEnd(api.close, store.close)
  await chat.append(task)
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  const turn = (options: Partial<TurnOptions> = {}) =>
    chat.turn({ client, model: 'claude-opus-5-5', parameters, ...options })
  return { chat, turn, events: async () => (await chat.timeline()).map(({ event }) => event) }
}

describe('thinking', () => {
  it('is left out where a marker has come between the request and its reply', async () => {
    const { chat, turn } = await scene([
      () => yes,
      async (conversation) => {
        await conversation.truncate({ covers: { first: 2, last: 2 } })
        return { content: [thought, text('So.')] }
      },
    ])
    await turn()
    await chat.append(task)
    await turn()
    await chat.append(task)
    await expect(turn()).resolves.toMatchObject({ calls: 1 })
  })

  it('is left out where a blank text before it in its reply is', async () => {
    const { chat, turn } = await scene([() => ({ content: [text(''), thought, text('So.')] })])
    await turn()
    await chat.append(task)
    await expect(turn()).resolves.toMatchObject({ calls: 1 })
  })

  it('is left out where a compaction before it in its reply is', async () => {
    const { chat, turn } = await scene([() => ({ content: [compaction, thought, text('So.')] })])
    const { position } = await turn()
    await chat.append(task)
    await turn()
    await chat.rewind({ to: position })
    const { messages } = await chat.render()
    expect(messages.at(-1)?.content).toEqual([text('So.')])
  })
})

describe('a partial reply that was kept', () => {
  it('has no thinking in a request, as the rest of its thinking may be missing', async () => {
    const { chat, turn } = await scene([
      () => ({ content: [thought, text('Well. '.repeat(20)), thought, text('So.')], delay: 1 }),
    ])
    const controller = new AbortController()
    let events = 0
    const onEvent = (): void => {
      if (++events === 10) controller.abort()
    }
    const aborted = turn({ keepPartial: true, signal: controller.signal, onEvent })
    await expect(aborted).rejects.toMatchObject({ _tag: 'ModelAborted' })
    await chat.append(task)
    await expect(turn()).resolves.toMatchObject({ calls: 1 })
  })
})

describe('a compaction that the API made in a reply', () => {
  it('has no receipt of its own: the call is the reply’s', async () => {
    const { chat, turn, events } = await scene([
      () => ({ content: [text('Well.'), compaction, text('So.')] }),
    ])
    await turn()
    await chat.append(task)
    await turn()
    expect((await events()).map(({ type }) => type)).toContain('Condensed')
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('is not recorded again where its summary was truncated', async () => {
    const { chat, turn, events } = await scene([
      () => ({ content: [text('Well.'), compaction, text('So.')] }),
    ])
    await turn()
    await chat.append(task)
    await turn()
    const summary = (await events()).findLast(({ type }) => type === 'Condensed')?.position ?? -1
    await chat.truncate({ covers: { first: summary, last: summary } })
    await chat.append(task)
    await turn()
    expect((await events()).filter(({ type }) => type === 'Condensed')).toHaveLength(1)
  })
})

describe('the history that turns of one conversation share', () => {
  it('takes in each event once, however many ask at once', async () => {
    const chat = storeOn(memoryStore(), { kind: 'test' }).conversation('c')
    await chat.append(task)()
    const history = liveHistory(chat)
    await run(history())
    await chat.append(task)()
    const all = await Promise.all([run(history()), run(history()), run(history())])
    expect(all.map((now) => right(now).items.length)).toEqual([2, 2, 2])
  })
})

describe('a tool that may not run twice', () => {
  it('runs once even after a rewind to its call in the same turn', async () => {
    const { chat, turn } = await scene([() => ({ content: [{ ...toolUse('t'), name: 'write' }] })])
    await chat.append([{ role: 'assistant', content: 'word '.repeat(400) }, task])
    let [times, summaries] = [0, 0]
    const write = (): string => {
      times++
      return 'word '.repeat(900)
    }
    await turn({
      run: { write },
      context: { window: 2_000, reserved: 100, keepLast: 1 },
      maxResult: 10_000,
      summarizer: async () => {
        if (summaries++ === 0) await chat.rewind({ to: (await chat.position()) - 1 })
        return E.right({ blocks: [text('In short.')], origin: {} })
      },
    })
    expect(summaries).toBeGreaterThan(0)
    expect(times).toBe(1)
  })
})

describe('results that stand in several `system` messages', () => {
  it('are put before what was said, once: the turn ends', async () => {
    const { chat, turn, events } = await scene([() => yes])
    await chat.append({ role: 'assistant', content: [toolUse('a'), toolUse('b')] })
    for (const id of ['a', 'b']) await chat.append({ role: 'system', content: [toolResult(id)] })
    await chat.append(task)
    const signal = AbortSignal.timeout(5_000)
    await expect(turn({ signal })).resolves.toMatchObject({ ended: 'stop', calls: 1 })
    expect((await events()).filter(({ type }) => type === 'Rewound')).toHaveLength(1)
  })
})
