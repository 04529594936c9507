import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import canonicalize from 'canonicalize'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { keyedDigest, requestKey } from '../../../src/agent/receipts/receipt-digest.ts'
import { currentRenderer } from '../../../src/agent/receipts/request.ts'
import type { ConversationEvent } from '../../../src/events/events.ts'
import { type Conversation, openStore } from '../../../src/index.ts'
import { openAiModel, type OpenAiOptions } from '../../../src/agent/models/openai/model.ts'
import type { ChatRequest, ChatFailure } from '../../../src/testing/chat-completions/body.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { type ChatCompletionsOptions, chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import { shell } from '../../cli/palimpsest.ts'
import { isChatSummary } from '../../support/agent-runs/player.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'

type Said = ChatReply | ChatFailure | ((body: ChatRequest) => ChatReply | ChatFailure)

/** A conversation with a task, and a model behind the stand-in for Chat Completions. */
const scene = async (
  said: readonly Said[],
  options: ChatCompletionsOptions = {},
  how: OpenAiOptions = {},
) => {
  const api = await chatCompletions({
    reply: (body, n) => {
      const reply = said[Math.min(n, said.length - 1)] ?? { content: 'Yes.' }
      return typeof reply === 'function' ? reply(body) : reply
    },
    ...options,
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Is it there?' })
  const client = openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'key' }), how)
  return {
    api,
    chat,
    client,
    turn: (more: Partial<TurnOptions> = {}) => chat.turn({ client, model: 'gpt-5.2', ...more }),
  }
}
const readTool = { name: 'read', input_schema: { type: 'object' } }
const eventsOf = async (chat: { readonly events: () => AsyncIterable<ConversationEvent> }) => {
  const events: ConversationEvent[] = []
  for await (const event of chat.events()) events.push(event)
  return events
}
/** The key of requests that were made from the history at a position. */
const keyAt = async (chat: Pick<Conversation, 'context'>, at: number): Promise<string> =>
  requestKey(await chat.context({ at }))
const digestOf = ({ messages, tools }: ChatRequest): string =>
  createHash('sha256')
    .update(canonicalize({ messages, tools }) ?? '')
    .digest('hex')

describe('a turn of a model at Chat Completions', () => {
  it('runs the tools that it calls, and records a receipt of what was sent', async () => {
    const { api, chat, turn } = await scene([
      { content: 'I look.', tool_calls: [{ id: 'call_1', name: 'read', arguments: { path: 'a.ts' } }] },
      { content: 'It is.' },
    ])
    const run = { read: ({ path }: { readonly path: string }) => `${path}: here` }
    const turned = await turn({ system: 'Look.', tools: [readTool], run, parameters: { max_tokens: 99 } })
    expect(turned).toMatchObject({ content: [text('It is.')], stopReason: 'end_turn', calls: 2 })
    const bodies = api.requests.map(({ body }) => body as ChatRequest)
    expect(bodies[1]).toMatchObject({
      max_completion_tokens: 99,
      messages: [
        { role: 'system', content: 'Look.' },
        { role: 'user', content: 'Is it there?' },
        { role: 'assistant', tool_calls: [{ id: 'call_1', function: { arguments: '{"path":"a.ts"}' } }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'a.ts: here' },
      ],
    })
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
    for (const [index, body] of bodies.entries()) {
      const sent = await chat.sent(index + 1)
      const { stream: _, stream_options: _options, ...rest } = body
      expect(sent).toMatchObject({ isSame: true, body: rest })
      expect(sent.receipt.digest).toBe(keyedDigest(await keyAt(chat, sent.receipt.position), digestOf(body)))
      expect(sent.receipt.options).toMatchObject({
        renderer: currentRenderer,
        form: { name: 'chat-completions', version: 1 },
      })
    }
  })

  it('the command line prints the body that was sent, and finds every request as it was', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'palimpsest-chat-'))
    atEnd(() => rmSync(folder, { recursive: true }))
    const { api, client } = await scene([{ content: 'Yes.' }])
    const store = await openStore(`sqlite:${join(folder, 'a.db')}`)
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'Is it there?' })
    await chat.turn({ client, model: 'gpt-5.2' })
    await store.close()
    const sent = await shell('palimpsest request c --call last --store sqlite:a.db', folder)
    const { stream: _, stream_options: _options, ...body } = api.requests[0]?.body ?? {}
    expect(JSON.parse(sent.stdout)).toEqual(body)
    expect(sent.stderr).toContain('matches its receipt')
    const verified = await shell('palimpsest verify --receipts c --store sqlite:a.db --json', folder)
    expect(verified.code).toBe(0)
    expect(verified.stdout).not.toContain('"kind"')
  })

  it('broken arguments become a call whose error the model sees', async () => {
    const { api, turn } = await scene([
      { tool_calls: [{ name: 'read', arguments: '{"path": "a' }] },
      { content: 'I see.' },
    ])
    let isRun = false
    await turn({ tools: [readTool], run: { read: () => (isRun = true) } })
    const [, called, told] = api.requests[1]?.body?.messages ?? []
    expect(called).toMatchObject({
      tool_calls: [{ function: { arguments: '{"input":"{\\"path\\": \\"a"}' } }],
    })
    expect(told).toMatchObject({
      role: 'tool',
      content: expect.stringMatching(/^Error: The input is not a JSON object/) as string,
    })
    expect(isRun).toBe(false)
  })

  it('a change to what was sent is found, with its message', async () => {
    const { chat, turn } = await scene([{ content: 'Yes.' }, { content: 'Still.' }])
    await turn()
    await chat.append({ role: 'user', content: 'Sure?' })
    await turn()
    const events = await eventsOf(chat)
    const store = await openStore('memory:')
    atEnd(store.close)
    const copy = store.conversation('changed')
    for (const { type, data } of events) {
      if (type === 'Configured') await copy.configure(data)
      if (type !== 'MessageAppended') continue
      const { role, content, origin } = data
      await copy.append({
        role,
        content: content.map((block) =>
          block.type === 'text' && block.text === 'Yes.' ? text('No.') : block,
        ),
        ...(origin && { origin }),
      })
    }
    const { findings } = await copy.verifyReceipts()
    expect(findings).toMatchObject([
      { call: 1, kind: 'event' },
      { call: 2, kind: 'event' },
    ])
  })

  it('a form of a newer version is named, and no receipt is called wrong', async () => {
    const { chat, turn } = await scene([{ content: 'Yes.' }])
    await turn()
    const reply = (await eventsOf(chat)).find(
      (event) => event.type === 'MessageAppended' && event.data.origin,
    )
    if (reply?.type !== 'MessageAppended' || !reply.data.origin?.context) throw new Error('no reply')
    const { context } = reply.data.origin
    const options = { ...context.options, form: { name: 'chat-completions', version: 2, more: true } }
    await chat.append({ role: 'user', content: 'And?' })
    await chat.append({
      role: 'assistant',
      content: 'Well.',
      origin: { context: { ...context, position: context.position, options } },
    })
    expect((await chat.verifyReceipts()).findings).toMatchObject([{ call: 2, kind: 'renderer' }])
  })

  it('a context that is too long is condensed, and the summary has a receipt of its request there', async () => {
    const words = 'so it was told '.repeat(40)
    const { api, chat, turn } = await scene(
      [(body) => (isChatSummary(body) ? { content: 'In short.' } : { content: words })],
      { models: { small: { contextWindow: 900 } } },
    )
    for (let index = 0; index < 6; index++) {
      await turn({ model: 'small', parameters: { max_tokens: 300 }, context: { window: 900 } })
      await chat.append({ role: 'user', content: words })
    }
    const events = await eventsOf(chat)
    const summaries = events.filter((event) => event.type === 'Condensed')
    expect(summaries.length).toBeGreaterThan(0)
    expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
    const asked = api.requests.filter(({ body }) => body !== undefined && isChatSummary(body))
    const digests = asked.map(({ body }) => digestOf(body as ChatRequest))
    for (const event of summaries) {
      const { position = 0, digest } = (event.type === 'Condensed' && event.data.origin?.context) || {}
      const key = await keyAt(chat, position)
      expect(digests.map((own) => keyedDigest(key, own))).toContain(digest)
    }
  })

  it('the tokens that were billed are the tokens that are recorded', async () => {
    const { api, chat, turn } = await scene([{ tool_calls: [{ name: 'read' }] }, { content: 'Yes.' }])
    await turn({ tools: [readTool], run: { read: () => 'here '.repeat(1_500) } })
    await chat.append({ role: 'user', content: 'Sure?' })
    await turn()
    const billed = api.requests.map(
      ({ answer }) => (answer as { readonly usage: Record<string, number> }).usage,
    )
    const sum = (all: readonly (Record<string, unknown> | undefined)[], field: string): number =>
      all.reduce((total, usage) => total + Number(usage?.[field] ?? 0), 0)
    const recorded = (await eventsOf(chat)).map((event) =>
      event.type === 'MessageAppended' ? event.data.origin?.usage : undefined,
    )
    const input = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
    expect(input.reduce((total, field) => total + sum(recorded, field), 0)).toBe(sum(billed, 'prompt_tokens'))
    expect(sum(recorded, 'output_tokens')).toBe(sum(billed, 'completion_tokens'))
    expect(sum(recorded, 'cache_read_input_tokens')).toBeGreaterThan(0)
  })
})

describe('reasoning that a provider wants back', () => {
  const thinker: Partial<TurnOptions> = {
    model: 'compatible-reasoner',
    tools: [readTool],
    run: { read: () => 'here' },
  }
  const said: readonly Said[] = [
    { reasoning: 'I must read it.', tool_calls: [{ name: 'read' }] },
    { reasoning: 'So.', content: 'It is.' },
  ]

  it('is refused without, and sent with the option', async () => {
    const without = await scene(said)
    await expect(without.turn(thinker)).rejects.toMatchObject({ _tag: 'ModelFailed', status: 400 })
    const { api, chat, turn } = await scene(said, {}, { reasoning: 'reasoning_content' })
    await turn(thinker)
    expect(api.requests[1]?.body?.messages[1]).toMatchObject({ reasoning_content: 'I must read it.' })
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })
})

describe('a turn as it happens', () => {
  it('is told in the events of any model: thoughts, pieces of inputs and texts', async () => {
    const { chat, client } = await scene(
      [
        { reasoning: 'I must read it first.', tool_calls: [{ name: 'read', arguments: { path: 'a.ts' } }] },
        { content: 'It is there, in line 80 of a.ts.' },
      ],
      { models: { teller: { reasoning: 'reasoning' } } },
    )
    const told = { thinking: '', 'tool-input': '', text: '' }
    const options = { client, model: 'teller', tools: [readTool], run: { read: () => 'here' } }
    for await (const event of chat.stream(options)) {
      if (event.type === 'thinking') told.thinking += event.thinking
      if (event.type === 'tool-input') told['tool-input'] += event.json
      if (event.type === 'text') told.text += event.text
    }
    expect(told).toEqual({
      thinking: 'I must read it first.',
      'tool-input': '{"path":"a.ts"}',
      text: 'It is there, in line 80 of a.ts.',
    })
  })
})

describe('a conversation that changes the provider in the middle', () => {
  it('is valid at each, both ways, with receipts of what each was sent', async () => {
    const { api, chat, client, turn } = await scene([
      { tool_calls: [{ name: 'read', arguments: { path: 'a' } }] },
      { content: 'It is.' },
    ])
    const other = await messagesApi({
      reply: (_, n) => ({
        content: [
          { type: 'thinking', thinking: 'Is it?' },
          n === 0 ? { type: 'tool_use', name: 'read', input: { path: 'b' } } : text('It is, too.'),
        ],
      }),
    })
    atEnd(other.close)
    const tools = {
      tools: [readTool],
      run: { read: ({ path }: { readonly path: string }) => `${path}: here` },
    }
    const claude = {
      client: new Anthropic({ baseURL: other.url, apiKey: 'key' }),
      model: 'claude-opus-5-5',
      parameters: { max_tokens: 2_000, thinking: { type: 'adaptive' } },
    }
    await turn(tools)
    await chat.append({ role: 'user', content: 'And b?' })
    await chat.turn({ ...claude, ...tools })
    await chat.append({ role: 'user', content: 'Both?' })
    await chat.turn({ client, model: 'gpt-5.2', ...tools, parameters: claude.parameters })
    await chat.append({ role: 'user', content: 'Sure?' })
    await chat.turn({ ...claude, ...tools })
    expect([...api.requests, ...other.requests].map(({ status }) => status)).toEqual(Array(6).fill(200))
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 6, findings: [] })
    const last = api.requests.at(-1)?.body as ChatRequest
    expect(last.messages.map(({ role }) => role)).toEqual(
      'user assistant tool assistant user assistant tool assistant user'.split(' '),
    )
    expect((await chat.sent(5)).receipt.options['repairs']).toMatchObject({
      'thinking-dropped': 2,
      'parameter-dropped': 1,
    })
  })
})
