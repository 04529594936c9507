import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { recordingFetch, type RecordedCall, type RecordGap } from '../../src/recorder.ts'
import { chatCompletions, messagesApi, responsesApi } from '../../src/testing/index.ts'
import { atEnd } from '../support/at-end.ts'
import { opened } from '../support/stores.ts'

const model = 'claude-opus-5-5'

/** A store and a `fetch` that records in it and keeps the bodies that it sends. */
const recording = async (options: { readonly fetch?: typeof globalThis.fetch } = {}) => {
  const store = await opened('memory:')
  const sent: string[] = []
  const calls: RecordedCall[] = []
  const gaps: RecordGap[] = []
  const fetch = recordingFetch(store, {
    fetch: (input, init) => {
      if (typeof init?.body === 'string') sent.push(init.body)
      return (options.fetch ?? globalThis.fetch)(input, init)
    },
    onRecorded: (call) => calls.push(call),
    onGap: (gap) => gaps.push(gap),
  })
  /** Checks that every body sent is in the store, to the byte. */
  const expectAll = async (): Promise<void> => {
    await fetch.settled()
    expect(gaps).toEqual([])
    expect(calls).toHaveLength(sent.length)
    for (const [index, { conversation, position, isExact }] of calls.entries()) {
      expect(isExact).toBe(true)
      const chat = store.conversation(conversation)
      for await (const call of chat.calls())
        if (call.position === position) expect(JSON.stringify((await chat.sent(call)).body)).toBe(sent[index])
    }
    for (const id of new Set(calls.map(({ conversation }) => conversation)))
      expect(await store.conversation(id).verifyReceipts()).toMatchObject({ findings: [] })
  }
  return { store, fetch, sent, calls, gaps, expectAll }
}

describe('recordingFetch', () => {
  it('records what the SDK of Anthropic sends, streamed or not, and the replies', async () => {
    const api = await messagesApi({
      reply: (_, n) =>
        n === 0
          ? { content: [{ type: 'tool_use', name: 'Bash', input: { command: 'ls', all: true } }] }
          : { content: [{ type: 'text', text: `Reply ${n}.` }] },
    })
    atEnd(api.close)
    const { store, fetch, calls, expectAll } = await recording()
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0, fetch })
    const tools = [{ name: 'Bash', input_schema: { type: 'object' as const } }]
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'What is here?' }]
    const whole = { model, max_tokens: 1_000, system: 'Be brief.', tools }
    const first = await client.messages.create({ ...whole, messages })
    messages.push({ role: 'assistant', content: first.content })
    const [block] = first.content
    const content = [
      { type: 'tool_result' as const, tool_use_id: block?.type === 'tool_use' ? block.id : '' },
    ]
    messages.push({ role: 'user', content })
    const second = await client.messages.stream({ ...whole, messages }).finalMessage()
    messages.push({ role: 'assistant', content: second.content }, { role: 'user', content: 'And now?' })
    await client.messages.stream({ ...whole, messages }).finalMessage()
    await expectAll()
    expect(calls.map(({ label }) => label)).toEqual(['begin', 'append', 'append'])
    const [call] = calls
    const { items } = await store.conversation(call?.conversation ?? '').context()
    expect(items.map((item) => ('role' in item ? item.role : item.kind))).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ])
  })

  it('records Chat Completions', async () => {
    const api = await chatCompletions({ reply: (_, n) => ({ content: `Reply ${n}.` }) })
    atEnd(api.close)
    const { fetch, calls, expectAll } = await recording()
    const client = new OpenAI({ baseURL: api.url, apiKey: 'key', maxRetries: 0, fetch })
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is here?' },
    ]
    for (const stream of [false, true]) {
      const settings = { model: 'gpt-5.2', messages: [...messages] }
      const text = stream
        ? await textOf(await client.chat.completions.create({ ...settings, stream: true }))
        : (await client.chat.completions.create(settings)).choices[0]?.message.content
      messages.push({ role: 'assistant', content: text ?? '' }, { role: 'user', content: 'And now?' })
    }
    await client.chat.completions.create({ model: 'gpt-5.2', messages })
    await expectAll()
    expect(calls.map(({ label }) => label)).toEqual(['begin', 'append', 'append'])
  })

  it('records the Responses API, whose items come back without their ids', async () => {
    const api = await responsesApi({ reply: (_, n) => ({ text: `Reply number ${n}.` }) })
    atEnd(api.close)
    const { fetch, calls, expectAll } = await recording()
    const client = new OpenAI({ baseURL: api.url, apiKey: 'key', maxRetries: 0, fetch })
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'What is here?' }]
    for (let round = 0; round < 3; round++) {
      const { output } = await client.responses.create({
        model: 'gpt-5.2',
        input,
        store: false,
        instructions: 'Be brief.',
      })
      for (const item of output) {
        const { id: _, ...rest } = item as OpenAI.Responses.ResponseOutputMessage
        input.push(rest as OpenAI.Responses.ResponseInputItem)
      }
      input.push({ role: 'user', content: 'And now?' })
    }
    await expectAll()
    expect(calls.map(({ label }) => label)).toEqual(['begin', 'edit', 'edit'])
  })

  it('gives the caller the reply and the errors of the wrapped function, and passes on anything else', async () => {
    const failure = new TypeError('no network')
    const { fetch, gaps, store } = await recording({
      fetch: async (input) => {
        if (input === 'http://api.test/v1/models') return new Response('models', { status: 418 })
        throw failure
      },
    })
    expect(await (await fetch('http://api.test/v1/models')).text()).toBe('models')
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello.' }] })
    await expect(fetch('http://api.test/v1/messages', { method: 'POST', body })).rejects.toBe(failure)
    await fetch.settled()
    expect(gaps).toEqual([])
    const ids: string[] = []
    for await (const { id, events } of store.conversations()) ids.push(`${id.split('-')[0]} ${events}`)
    expect(ids).toEqual(['recorded 2'])
  })

  it('never lets a failure of the recorder reach the caller, and notes the gap', async () => {
    const api = await messagesApi()
    atEnd(api.close)
    const store = await opened('memory:')
    const gaps: RecordGap[] = []
    let isBroken = true
    const fetch = recordingFetch(
      {
        record: (exchange) =>
          isBroken ? Promise.reject(new Error('the disk is full')) : store.record(exchange),
        conversation: store.conversation,
      },
      {
        onGap: (gap) => {
          gaps.push(gap)
          throw new Error('a listener that fails')
        },
      },
    )
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0, fetch })
    const ask = () =>
      client.messages.create({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello.' }] })
    expect((await ask()).role).toBe('assistant')
    await fetch.settled()
    expect(gaps).toEqual([{ calls: 1, reason: 'the disk is full' }])
    isBroken = false
    await ask()
    await fetch.settled()
    for await (const { id } of store.conversations())
      expect(await store.conversation(id).notes({ kind: 'recorder/gap' })).toMatchObject([
        { data: { calls: 1 } },
      ])
  })

  it('records the request, but not the reply, of a call that the caller ends', async () => {
    const start = { type: 'message_start', message: { type: 'message', role: 'assistant', content: [] } }
    let isCancelled = false
    const { fetch, calls, store } = await recording({
      fetch: async () => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) =>
            controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(start)}\n\n`)),
          cancel: () => void (isCancelled = true),
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      },
    })
    const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello.' }] })
    const response = await fetch('http://api.test/v1/messages', { method: 'POST', body })
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect(isCancelled).toBe(true)
    await expect.poll(async () => (await fetch.settled(), calls.length)).toBe(1)
    expect(calls[0]).not.toHaveProperty('isExact')
    const { items } = await store.conversation(calls[0]?.conversation ?? '').context()
    expect(items).toHaveLength(1)
  })
})

const textOf = async (stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string> => {
  let text = ''
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
  return text
}
