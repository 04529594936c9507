import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { openAiModel, type OpenAiOptions } from '../../../src/agent/models/openai/model.ts'
import type { ChatFailure, Manners } from '../../../src/testing/chat-completions/body.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import { summarizer } from '../../../src/agent/context/summary/summarizer.ts'
import { effective } from '../../../src/projections/effective.ts'
import { right } from '../../support/either.ts'
import { assistant, logOf, user } from '../../support/log.ts'
import { atEnd } from '../../support/at-end.ts'

const mistral: Manners = {
  refusesUserAfterTool: true,
  refusesStreamOptions: true,
  errorBody: (error) => ({ object: 'error', ...error }),
}
const readTool = { name: 'read', input_schema: { type: 'object' } }

/** A conversation in which the user speaks right after a result, at an endpoint that refuses this. */
const scene = async (
  options: OpenAiOptions = {},
  {
    manners = mistral,
    reply = () => ({ content: 'I see.' }),
  }: { readonly manners?: Manners; readonly reply?: (n: number) => ChatReply | ChatFailure } = {},
) => {
  const api = await chatCompletions({ reply: (_, n) => reply(n), models: { mistral: manners } })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Read it.' })
  const use = { type: 'tool_use', id: 'a', name: 'read', input: {} } as const
  await chat.append({ role: 'assistant', content: [use], origin: { stopReason: 'tool_use' } })
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'It is empty.' } as const
  await chat.append({ role: 'user', content: [result] })
  await chat.append({ role: 'user', content: 'Stop there.' })
  const model = () =>
    openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'any' }), { usage: false, ...options })
  const client = model()
  const turn = (given = client) => chat.turn({ client: given, model: 'mistral', tools: [readTool] })
  const roles = () =>
    api.requests.map(({ status, body }) => [status, ...(body?.messages ?? []).map(({ role }) => role)])
  return { api, chat, client, model, turn, roles }
}
const plain = ['user', 'assistant', 'tool', 'user']
const bridged = ['user', 'assistant', 'tool', 'assistant', 'user']

describe('an endpoint that refuses the user right after a tool', () => {
  it('gets a message of the assistant between the two, once it has refused', async () => {
    const { chat, client, turn, roles } = await scene()
    const turned = await turn()
    expect(turned).toMatchObject({ calls: 1, retried: 1 })
    expect(roles()).toEqual([
      [400, ...plain],
      [200, ...bridged],
    ])
    const sent = await chat.sent()
    expect(sent).toMatchObject({ isSame: true, origin: { failed: [{ status: 400 }] } })
    expect(sent.receipt.options).toMatchObject({
      form: { version: 1, bridge: true },
      repairs: { 'assistant-added': 1 },
    })
    await chat.append({ role: 'user', content: 'Why?' })
    await turn()
    expect(roles().at(-1)).toEqual([200, ...bridged, 'assistant', 'user'])
    expect(roles().length).toBe(3)
    expect(client.form).toMatchObject({ bridge: true })
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('or at once, by the option; never, where the option says so', async () => {
    const { turn, roles } = await scene({ bridge: true })
    await turn()
    expect(roles()).toEqual([[200, ...bridged]])
    const never = await scene({ bridge: false })
    await expect(never.turn()).rejects.toMatchObject({ _tag: 'ModelFailed', status: 400 })
    expect(never.roles()).toEqual([[400, ...plain]])
  })

  it.each([
    [
      400,
      'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
    ],
    [500, 'Conversation roles must alternate user/assistant/user/assistant/...'],
    [422, "Unexpected role 'user' after role 'tool'"],
  ])('in whatever words it refuses: %s %s', async (status, message) => {
    const refusal: ChatFailure = { status, type: 'BadRequestError', message }
    const { turn, roles } = await scene(
      {},
      { manners: {}, reply: (n) => (n === 0 ? refusal : { content: 'I see.' }) },
    )
    await turn()
    expect(roles()).toEqual([
      [status, ...plain],
      [200, ...bridged],
    ])
  })

  it('is asked once more only, and what it says of something else is left alone', async () => {
    const message = "Unexpected role 'user' after role 'tool'"
    const again = await scene({}, { manners: {}, reply: () => ({ status: 400, type: 'x', message }) })
    const error: unknown = await again.turn().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ _tag: 'ModelFailed', failed: [{ status: 400 }, { status: 400 }] })
    expect(again.roles().length).toBe(2)
    const last =
      'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    const other = await scene({}, { manners: {}, reply: () => ({ status: 400, type: 'x', message: last }) })
    await expect(other.turn()).rejects.toMatchObject({ _tag: 'ModelFailed' })
    expect(other.roles().length).toBe(1)
  })

  it('spends a call of the budget with its refusal', async () => {
    const { chat, client, roles } = await scene()
    const asked = chat.turn({ client, model: 'mistral', tools: [readTool], budget: { calls: 1 } })
    await expect(asked).rejects.toMatchObject({ _tag: 'BudgetSpent' })
    expect(roles().length).toBe(1)
  })

  it('keeps receipts true where two turns share a model and one of them learns', async () => {
    const { chat, client, turn } = await scene()
    const fork = chat.fork('d')
    await Promise.all([
      turn(),
      fork.then((other) => other.turn({ client, model: 'mistral', tools: [readTool] })),
    ])
    const other = await fork
    for (const each of [chat, other]) expect(await each.verifyReceipts()).toMatchObject({ findings: [] })
  })

  it('summarizes as well', async () => {
    const { model, api } = await scene()
    const use = { type: 'tool_use', id: 'a', name: 'read', input: {} }
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'It is empty.' }
    const log = logOf(user('Read it.'), assistant([use]), user([result]))
    const summarize = summarizer(model(), { model: 'mistral', window: 100_000 })
    const { origin } = right(await summarize({ effective: effective(log), covers: { first: 0, last: 2 } }))
    expect(api.requests.map(({ status }) => status)).toEqual([400, 200])
    expect(origin.context?.options).toMatchObject({ along: { form: { bridge: true } } })
  })
})

describe('a server that refuses `stream_options`', () => {
  it('gets none, but those that the caller names', async () => {
    const { api, turn } = await scene({ bridge: true })
    await turn()
    expect(api.requests[0]?.body).not.toHaveProperty('stream_options')
    const named = await scene({ bridge: true }, { manners: {} })
    const parameters = { stream_options: { include_obfuscation: false } }
    await named.chat.turn({ client: named.client, model: 'mistral', tools: [readTool], parameters })
    expect(named.api.requests[0]?.body?.stream_options).toEqual({ include_obfuscation: false })
    expect(await named.chat.sent()).toMatchObject({
      isSame: true,
      receipt: { options: { form: { usage: false } } },
    })
  })
})
