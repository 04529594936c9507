import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { currentSummarizer } from '../../../src/agent/receipts/summary-request.ts'
import { openStore, type Conversation } from '../../../src/index.ts'
import { summaryFailed } from '../../../src/agent/context/summary/errors.ts'
import type { Summarizer } from '../../../src/agent/context/summary/summarizer.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import {
  messagesApi,
  type MessagesApi,
  type MessagesApiOptions,
} from '../../../src/testing/messages-api/server.ts'

const model = 'claude-opus-5-5'
/** About so many tokens. */
const words = (tokens: number): string => 'word '.repeat(tokens)
const isSummary = (body: ApiRequest): boolean => body.max_tokens !== 500 && body.max_tokens !== 8_192

interface Scene {
  readonly api: MessagesApi
  readonly chat: Conversation
  readonly turn: (options?: Partial<TurnOptions>) => ReturnType<Conversation['turn']>
  readonly kinds: () => Promise<string>
}

/** A conversation of `turns` turns of 100 tokens a message, and a last question. */
const long = async (
  turns: number,
  reply: (body: ApiRequest, n: number) => ApiReply | ApiFailure = (body) => ({
    content: [text(isSummary(body) ? 'They talked.' : 'Yes.')],
  }),
  options: MessagesApiOptions = {},
): Promise<Scene> => {
  const api = await messagesApi({ reply, ...options })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  for (let turn = 0; turn < turns; turn++)
    await chat.append([
      { role: 'user', content: words(100) },
      { role: 'assistant', content: words(100) },
    ])
  await chat.append({ role: 'user', content: 'Is it there?' })
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  return {
    api,
    chat,
    turn: (more = {}) =>
      chat.turn({
        client,
        model,
        context: { window: 3_000, reserved: 500 },
        parameters: { max_tokens: 500 },
        ...more,
      }),
    kinds: async () => (await chat.effective()).map(({ kind }) => kind[0]).join(''),
  }
}

/** A summarizer while which something happens, and how often it was asked. */
const slowly = (meanwhile: (n: number) => Promise<void>) => {
  let n = 0
  const summarize: Summarizer = async () => {
    await meanwhile(++n)
    return { blocks: [text('They talked.')], origin: { model, usage: { input_tokens: n } } }
  }
  return { summarize, asked: () => n }
}

describe('a turn in a context that is full', () => {
  it('condenses first, and records by whom and from what', async () => {
    const { turn, kinds, chat } = await long(12)
    expect(await turn()).toMatchObject({ calls: 1 })
    expect(await kinds()).toBe('msmmmm')
    expect((await chat.effective())[1]).toMatchObject({
      kind: 'summary',
      method: 'model',
      origin: { model, context: { options: { summarizer: currentSummarizer } } },
    })
  })

  it('does not while there is room', async () => {
    const { turn, kinds } = await long(5)
    await turn()
    expect(await kinds()).toBe('m'.repeat(12))
  })

  it('condenses from the percentage on that was asked for', async () => {
    const { turn, kinds } = await long(5)
    await turn({ context: { window: 3_000, reserved: 500, percentage: 20 } })
    expect(await kinds()).toContain('s')
  })

  it('truncates where condensing fails, and says why', async () => {
    const { turn, kinds, chat } = await long(12, (body) =>
      isSummary(body) ? { content: [text('No.')], stop_reason: 'refusal' } : { content: [text('Yes.')] },
    )
    expect(await turn()).toMatchObject({ condenseFailed: { _tag: 'SummaryFailed', reason: 'refusal' } })
    expect(await kinds()).toContain('t')
    expect((await chat.full()).filter(({ kind }) => kind === 'summary')).toEqual([])
  })

  it('truncates where the summarizer misses its deadline', async () => {
    const { turn, kinds } = await long(12, (body) => ({
      content: [text('They talked.')],
      ...(isSummary(body) && { delay: 100 }),
    }))
    expect(await turn({ summarizer: { deadline: 20 } })).toMatchObject({
      condenseFailed: { _tag: 'ModelAborted' },
    })
    expect(await kinds()).toMatch(/^mt/)
  })

  it('truncates if there is no summarizer', async () => {
    const { turn, kinds, api } = await long(12)
    const turned = await turn({ summarizer: false })
    expect(turned).not.toHaveProperty('condenseFailed')
    expect(await kinds()).toMatch(/^mt/)
    expect(api.requests).toHaveLength(1)
  })

  it('takes a summarizer of the caller’s own', async () => {
    const own: Summarizer = async ({ covers }) => ({ blocks: [text(`${covers.first} to ${covers.last}`)] })
    const { turn, chat } = await long(12)
    await turn({ summarizer: own })
    expect((await chat.effective())[1]).toMatchObject({ messages: [{ content: [text('1 to 21')] }] })
  })

  it('does not wait for a summarizer that ignores its signal', async () => {
    const { turn, kinds } = await long(12)
    const controller = new AbortController()
    const own: Summarizer = () => {
      setTimeout(() => controller.abort(), 5)
      return new Promise(() => {})
    }
    await expect(turn({ summarizer: own, signal: controller.signal })).rejects.toMatchObject({
      _tag: 'ModelAborted',
    })
    expect(await kinds()).toBe('m'.repeat(25))
  })

  it('refuses a summary that is not smaller, and records nothing of it', async () => {
    const { turn, chat } = await long(12)
    const own: Summarizer = async () => E.right({ blocks: [text(words(5_000))], origin: {} })
    expect(await turn({ summarizer: own })).toMatchObject({ condenseFailed: { _tag: 'ContextGrew' } })
    expect((await chat.full()).map(({ kind }) => kind)).not.toContain('summary')
  })

  it('asks for a summary once, whatever is said or configured meanwhile', async () => {
    const { turn, chat, api, kinds } = await long(12)
    const { summarize, asked } = slowly(async (n) => {
      await chat.append({ role: 'user', content: `And ${n}?` })
      await chat.configure({ system: `You are number ${n}.` })
    })
    await turn({ summarizer: summarize })
    expect(asked()).toBe(1)
    expect(await kinds()).toBe('msmmmmm')
    expect(JSON.stringify(api.requests.at(-1)?.body?.messages)).toContain('And 1?')
    expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
  })

  it('records in the next reply what a summary has cost of what is not there any more', async () => {
    const { turn, chat, kinds } = await long(12)
    const { summarize, asked } = slowly(async (n) => {
      if (n === 1) await chat.truncate({ covers: { first: 1, last: 2 } })
    })
    await turn({ summarizer: summarize })
    expect(asked()).toBe(2)
    expect(await kinds()).toBe('msmmmm')
    expect((await chat.effective()).at(-1)).toMatchObject({
      origin: { failed: [{ error: 'StaleContext', usage: { input_tokens: 1 } }] },
    })
  })

  it('records in the next reply what a summary has cost that was not smaller', async () => {
    const { turn, chat } = await long(12)
    const origin = { model, usage: { input_tokens: 7 } }
    await turn({ summarizer: async () => ({ blocks: [text(words(5_000))], origin }) })
    expect((await chat.effective()).at(-1)).toMatchObject({
      origin: { failed: [{ error: 'ContextGrew', usage: { input_tokens: 7 } }] },
    })
  })

  it('ends with ContextTooLarge if what has to stay is too large, and calls no model', async () => {
    const { chat, turn, api } = await long(1)
    await chat.append({ role: 'user', content: words(4_000) })
    await expect(turn()).rejects.toMatchObject({ _tag: 'ContextTooLarge', items: [{ position: 3 }, {}, {}] })
    expect(api.requests).toEqual([])
  })
})

describe('a prompt that nearly fills the window', () => {
  it('is no reason for a summary at every request: one for each tenth of the window that was said', async () => {
    const { turn, chat, api } = await long(0, (body) => ({
      content: [text(isSummary(body) ? 'They talked.' : words(20))],
    }))
    for (let said = 0; said < 42; said++) {
      await chat.append({ role: 'user', content: words(20) })
      await turn({ system: '12 '.repeat(2_020) })
    }
    const summaries = api.requests.filter(({ body }) => body && isSummary(body))
    expect(summaries).toHaveLength(7)
    expect(api.requests.every(({ status }) => status === 200)).toBe(true)
  })

  it.each(['SummaryFailed', 'ContextGrew'])(
    'nor for one at every turn where it fails (%s): by what the log says, it waits for a tenth of the window, too',
    async (tag) => {
      const { turn, chat } = await long(5, () => ({ content: [text(words(20))] }))
      let asked = 0
      const own: Summarizer = async () => {
        asked++
        return tag === 'SummaryFailed'
          ? E.left(summaryFailed('refusal', 'No.'))
          : E.right({ blocks: [text(words(5_000))] })
      }
      const failures: (string | undefined)[] = []
      for (let said = 0; said < 10; said++) {
        const { condenseFailed } = await turn({
          context: { window: 3_000, reserved: 500, percentage: 20 },
          summarizer: own,
        })
        failures.push(condenseFailed?._tag)
        await chat.append({ role: 'user', content: words(20) })
      }
      const [first, ...others] = failures
      expect(first).toBe(tag)
      expect(others.filter((each) => each === tag)).toHaveLength(1)
      expect(asked).toBe(2)
      const replies = (await chat.effective()).filter((item) => item.kind === 'message' && item.origin)
      expect(replies[0]).toMatchObject({ origin: { condenseFailed: { error: tag, window: 3_000 } } })
      expect(replies[1]).not.toHaveProperty('origin.condenseFailed')
    },
  )

  it('says in its markers what was counted, and by which settings', async () => {
    const { turn, chat } = await long(12)
    await turn()
    const [, summary] = await chat.effective()
    expect(summary).toMatchObject({
      policy: {
        of: 'context',
        position: 25,
        used: expect.any(Number),
        allowed: 2_200,
        settings: { window: 3_000, reserved: 500 },
        options: { canCondense: true },
      },
    })
  })
})

describe('a context that is too long for the API and not by the estimate', () => {
  const small = { models: { [model]: { contextWindow: 2_500 } } }
  const tooLong: ApiFailure = {
    status: 400,
    type: 'invalid_request_error',
    message: 'prompt is too long: 2 tokens > 1 maximum',
  }
  const roomy = { context: { window: 200_000 } }
  const told = ({ requests }: MessagesApi): readonly string[] =>
    requests.map(({ status, body }) => (body && isSummary(body) ? 'summary' : String(status)))

  it('is condensed, and asked again', async () => {
    const { turn, kinds, api } = await long(12, undefined, small)
    const summarizer = { model: 'claude-sonnet-5-5' }
    expect(await turn({ ...roomy, summarizer })).toMatchObject({ calls: 2 })
    expect(told(api).join(' ')).toBe('400 summary 200')
    expect(await kinds()).toBe('msmmmm')
  })

  it('is truncated by a quarter, again and again, where condensing fails', async () => {
    const { turn, kinds, api } = await long(30, undefined, small)
    await turn({ ...roomy, summarizer: false })
    expect(told(api).join(' ')).toMatch(/^(400 )+200$/)
    expect(await kinds()).toMatch(/^mt+m+$/)
  })

  it('is truncated where condensing does not help', async () => {
    const { turn, kinds } = await long(30, (_, n) => (n > 2 ? { content: [text('Yes.')] } : tooLong))
    let summaries = 0
    const own: Summarizer = async () => {
      summaries++
      return E.right({ blocks: [text(words(2_000))], origin: {} })
    }
    await turn({ ...roomy, summarizer: own })
    expect(summaries).toBe(1)
    expect(await kinds()).toMatch(/^mt/)
  })

  it('is condensed once at most, then truncated', async () => {
    let refusals = 0
    const { turn, api, kinds } = await long(30, (body) =>
      isSummary(body) || ++refusals > 2 ? { content: [text('Yes.')] } : tooLong,
    )
    await turn({ ...roomy, summarizer: { model: 'claude-sonnet-5-5' } })
    expect(told(api).join(' ')).toMatch(/^400 summary (400 )+200$/)
    expect(await kinds()).toMatch(/^mt+m+$/)
  })

  it('is truncated by less than a quarter where no more may be hidden', async () => {
    const { turn, chat, kinds, api } = await long(0, undefined, small)
    await chat.append([
      { role: 'assistant', content: words(300) },
      { role: 'user', content: words(2_400) },
    ])
    await turn({ ...roomy, summarizer: false })
    expect(told(api)).toEqual(['400', '200'])
    expect(await kinds()).toBe('mtmm')
  })

  it('is never sent again as it was, however small it is', async () => {
    const { turn, api, chat } = await long(0, () => tooLong)
    await chat.rewind({ to: -1 })
    await chat.append({ role: 'user', content: 'a' })
    await expect(turn(roomy)).rejects.toMatchObject({ _tag: 'ContextTooLarge' })
    expect(told(api)).toEqual(['400'])
  })

  it('ends the turn where nothing is to be done unasked', async () => {
    const { turn, api, kinds } = await long(12, undefined, small)
    const context = { window: 200_000, automatic: false }
    await expect(turn({ context })).rejects.toMatchObject({ _tag: 'ContextExceeded' })
    expect(told(api)).toEqual(['400'])
    expect(await kinds()).toBe('m'.repeat(25))
  })

  it('teaches the estimates what the API says that it is', async () => {
    const dense = '{"a":[1]} '.repeat(400)
    const { turn, chat, api } = await long(2, undefined, { models: { [model]: { contextWindow: 3_000 } } })
    await chat.append([
      { role: 'user', content: dense },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'So?' },
    ])
    const before = await chat.tokens({ model })
    await turn({ context: { window: 3_600, reserved: 500 }, summarizer: false })
    expect(told(api)).toEqual(['400', '200'])
    const markers = (await chat.full()).filter(({ kind }) => kind === 'truncation')
    expect(markers).toMatchObject([
      {
        policy: { learned: { model }, options: { refused: { maximum: 3_000 } } },
        reason: expect.stringContaining('API'),
      },
    ])
    expect(before.correction).toBe(1)
    const after = await chat.tokens({ at: (await chat.position()) - 1 })
    expect(after.correction).toBeGreaterThan(1.2)
  })

  it('ends with ContextTooLarge where nothing can be hidden any more', async () => {
    const { turn } = await long(4, () => tooLong)
    await expect(turn({ ...roomy, summarizer: false })).rejects.toMatchObject({
      _tag: 'ContextTooLarge',
      message: expect.stringMatching(/prompt is too long: 2 tokens > 1 maximum.*position 8/),
    })
  })
})

describe('a compaction that the API made', () => {
  const compaction = { type: 'compaction' as const, content: 'They talked.' }

  it('becomes a summary of method provider, word for word, and the conversation continues after it', async () => {
    const { turn, chat, api, kinds } = await long(3, (_, n) => ({
      content: n === 0 ? [compaction, text('Yes.')] : [text('Again.')],
    }))
    await turn()
    expect(await kinds()).toBe('sm')
    const [summary] = await chat.effective()
    expect(summary).toMatchObject({
      kind: 'summary',
      method: 'provider',
      messages: [{ role: 'assistant', content: [compaction] }],
    })
    await chat.append({ role: 'user', content: 'Sure?' })
    await turn()
    const sent = api.requests.at(-1)?.body?.messages
    expect(sent).toMatchObject([
      { role: 'assistant', content: [compaction, text('Yes.')] },
      { role: 'user', content: [{ text: 'Sure?' }] },
    ])
    expect(api.requests.every(({ status }) => status === 200)).toBe(true)
  })

  it('is recorded by the next turn where the process ended in between', async () => {
    const { turn, chat, kinds } = await long(3)
    await chat.append([
      { role: 'assistant', content: [compaction, text('Yes.')] },
      { role: 'user', content: 'Sure?' },
    ])
    await turn().catch(() => undefined)
    expect(await kinds()).toMatch(/^smm/)
  })
})
