import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { generateText, isStepCount, streamText, tool, wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aiSdkMiddleware } from '../../src/frameworks/ai-sdk.ts'
import type { RecordedCall, RecordGap } from '../../src/recorder.ts'
import { chatCompletions, messagesApi, responsesApi } from '../../src/testing/index.ts'
import { atEnd } from '../support/at-end.ts'
import { opened } from '../support/stores.ts'

/** Bodies as they are sent. */
type Sent = string[]
const spyOn =
  (sent: Sent): typeof globalThis.fetch =>
  (input, init) => {
    if (typeof init?.body === 'string') sent.push(init.body)
    return fetch(input, init)
  }

const providers = {
  'the Messages API': async (sent: Sent): Promise<LanguageModelV4> => {
    const api = await messagesApi({
      reply: (_, n) =>
        n === 0
          ? { content: [{ type: 'tool_use', name: 'look', input: { at: 'x' } }] }
          : { content: [{ type: 'text', text: `Reply ${n}.` }] },
    })
    atEnd(api.close)
    return createAnthropic({ baseURL: `${api.url}/v1`, apiKey: 'canary-key', fetch: spyOn(sent) })(
      'claude-opus-5-5',
    )
  },
  'Chat Completions': async (sent: Sent): Promise<LanguageModelV4> => {
    const api = await chatCompletions({
      reply: (_, n) =>
        n === 0 ? { tool_calls: [{ name: 'look', arguments: { at: 'x' } }] } : { content: `Reply ${n}.` },
    })
    atEnd(api.close)
    return createOpenAI({ baseURL: api.url, apiKey: 'canary-key', fetch: spyOn(sent) }).chat('gpt-5.2')
  },
  'the Responses API': async (sent: Sent): Promise<LanguageModelV4> => {
    const api = await responsesApi({ reply: (_, n) => ({ text: `Reply number ${n}.` }) })
    atEnd(api.close)
    return createOpenAI({ baseURL: api.url, apiKey: 'canary-key', fetch: spyOn(sent) }).responses('gpt-5.2')
  },
}

const scene = async (provider: keyof typeof providers) => {
  const store = await opened('memory:')
  const sent: Sent = []
  const calls: RecordedCall[] = []
  const gaps: RecordGap[] = []
  const middleware = aiSdkMiddleware(store, {
    onRecorded: (call) => calls.push(call),
    onGap: (gap) => gaps.push(gap),
  })
  const model = wrapLanguageModel({ model: await providers[provider](sent), middleware })
  return { store, sent, calls, gaps, middleware, model }
}

const look = tool({ inputSchema: z.object({ at: z.string() }), execute: () => 'found' })

describe('the middleware of the AI SDK', () => {
  it.for(Object.keys(providers) as (keyof typeof providers)[])(
    'records what is sent to %s, generated and streamed, to the byte',
    async (provider) => {
      const { store, sent, calls, gaps, middleware, model } = await scene(provider)
      const settings = {
        model,
        maxRetries: 0,
        tools: { look },
        stopWhen: isStepCount(3),
      }
      const prompt = [{ role: 'user' as const, content: 'What is here?' }]
      const first = await generateText({ ...settings, messages: prompt })
      const messages = [...prompt, ...first.responseMessages, { role: 'user' as const, content: 'And now?' }]
      const second = streamText({ ...settings, messages })
      const parts: string[] = []
      for await (const part of second.fullStream) parts.push(part.type)
      await generateText({
        ...settings,
        messages: [...messages, ...(await second.responseMessages), { role: 'user', content: 'And then?' }],
      })
      await middleware.settled()
      expect(gaps).toEqual([])
      expect(parts).not.toContain('raw')
      expect(calls).toHaveLength(sent.length)
      expect(new Set(calls.map(({ conversation }) => conversation)).size).toBe(1)
      const chat = store.conversation(calls[0]?.conversation ?? '')
      const bodies: string[] = []
      for await (const call of chat.calls()) bodies.push(JSON.stringify((await chat.sent(call)).body))
      expect(bodies).toEqual(sent)
      expect(await chat.verifyReceipts()).toMatchObject({ receipts: sent.length, findings: [] })
      const kept = JSON.stringify(await chat.full())
      expect(kept).toContain(await second.text)
      expect(kept).not.toContain('canary-key')
    },
  )

  it('leaves errors to the program, and tells what it does not record', async () => {
    const store = await opened('memory:')
    const gaps: RecordGap[] = []
    const middleware = aiSdkMiddleware(store, { onGap: (gap) => gaps.push(gap) })
    const gone = createAnthropic({ baseURL: 'http://127.0.0.1:9/v1', apiKey: 'key' })('claude-opus-5-5')
    await expect(
      generateText({
        model: wrapLanguageModel({ model: gone, middleware }),
        prompt: 'Hello.',
        maxRetries: 0,
      }),
    ).rejects.toThrow('Cannot connect')
    const other: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider: 'other',
      modelId: 'm',
      supportedUrls: {},
      doGenerate: async () => ({
        content: [{ type: 'text', text: 'Hello.' }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
        request: { body: { prompt: 'Hello.' } },
      }),
      doStream: () => {
        throw new Error('not asked for')
      },
    }
    const { text } = await generateText({
      model: wrapLanguageModel({ model: other, middleware }),
      prompt: 'Hello.',
    })
    expect(text).toBe('Hello.')
    await middleware.settled()
    expect(gaps).toEqual([{ calls: 1, reason: 'requests of other are not recorded' }])
  })
})
