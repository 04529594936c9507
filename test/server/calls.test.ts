import { readFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { anthropicModel, type Model, openAiModel, openStore, type Receipt } from '../../src/index.ts'
import { why } from '../../src/investigate/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { chatCompletions } from '../../src/testing/chat-completions/server.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { atEnd } from '../support/at-end.ts'
import { serving } from '../support/server/asking.ts'
import { wiper } from '../support/server/wiper.ts'

const question = { role: 'user', content: 'Is it there?' } as const
const readTool = { name: 'read', input_schema: { type: 'object' } }
const run = { read: () => 'a.ts: ich \ud83d' }

/** The bodies that the SDKs send, byte for byte, in order. */
const sending = () => {
  const bodies: string[] = []
  const listened: typeof fetch = (url, init) => {
    if (typeof init?.body === 'string') bodies.push(init.body)
    return fetch(url, init)
  }
  return { bodies, listened }
}

const claude = async (betas: readonly string[]) => {
  const { bodies, listened } = sending()
  const call = { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a.ts' } }
  const said = [[call], [{ type: 'text', text: 'It is.' }]]
  const api = await messagesApi({ reply: (_, n) => ({ content: said[Math.min(n, 1)] ?? [] }) })
  atEnd(api.close)
  const sdk = new Anthropic({ baseURL: api.url, apiKey: 'key', fetch: listened })
  return { bodies, client: anthropicModel(sdk, { betas }) }
}
const chatModel = async () => {
  const { bodies, listened } = sending()
  const call = { id: 'call_1', name: 'read', arguments: { path: 'a.ts' } }
  const api = await chatCompletions({
    reply: (_, n) => (n === 0 ? { tool_calls: [call] } : { content: 'It is.' }),
  })
  atEnd(api.close)
  return { bodies, client: openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'key', fetch: listened })) }
}

/** A conversation `a` of two calls. */
const turned = async (client: Model, model = 'claude-opus-5-5') => {
  const scene = await serving()
  const chat = scene.store.conversation('a')
  await chat.append(question)
  await chat.turn({
    client,
    model,
    system: 'Look.',
    tools: [readTool],
    run,
    parameters: { max_tokens: 99, temperature: 0.5 },
  })
  return { ...scene, chat }
}

const call = 'conversations/a/calls'

describe('the request of a call', () => {
  test.each([
    ['the Messages API', 'claude-opus-5-5', () => claude([])],
    ['the Messages API with beta features', 'claude-opus-5-5', () => claude(['context-1m-2025-08-07'])],
    ['Chat Completions', 'gpt-5.2', chatModel],
  ])('is byte for byte what was sent: %s', async (_, model, made) => {
    const { bodies, client } = await made()
    const { fetch, ask, chat } = await turned(client, model)
    expect(bodies.length).toBe(2)
    for (const [index, body] of bodies.entries()) {
      const answer = await fetch(`${call}/${index + 1}/request`)
      expect(answer.headers.get('palimpsest-receipt')).toBe('verified')
      expect(answer.headers.get('palimpsest-betas')).toBe(client.betas?.join(',') ?? null)
      expect(await answer.text()).toBe(body)
      const { json } = await ask(`${call}/${index + 1}`)
      const { receipt } = await chat.sent(index + 1)
      expect(json).toMatchObject({ number: index + 1, state: 'verified', isSame: true })
      // Its price is known, or it is not told.
      expect(typeof json['usd']).toBe(model.startsWith('claude') ? 'number' : 'undefined')
      expect((await ask(`${call}/${index + 1}/receipt`)).json).toEqual(receipt)
      expect(answer.headers.get('palimpsest-digest')).toBe(receipt.digest)
    }
    const { headers } = await ask(`${call}/1/request`)
    const part = await fetch(`${call}/1/request`, { headers: { range: 'bytes=0-9' } })
    expect([part.status, await part.text()]).toEqual([206, bodies[0]?.slice(0, 10)])
    const again = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
    expect(await ask(`${call}/1/request`, again)).toMatchObject({ status: 304 })
  })

  test('that is not what its receipt is of says where it differs first', async () => {
    const { client } = await claude([])
    const { ask, chat, store } = await turned(client)
    const receipts: Receipt[] = []
    for await (const { receipt } of chat.calls()) receipts.push(receipt)
    const other = store.conversation('b')
    const events = []
    for await (const event of chat.events()) events.push(event)
    for (const { type, data } of events)
      if (type === 'Configured') await other.configure(data)
      else if (type === 'MessageAppended') {
        const isQuestion = data.role === 'user' && data.content[0]?.type === 'text'
        const { role, content, origin } = data
        await other.append({ role, content: isQuestion ? 'Is it gone?' : content, ...(origin && { origin }) })
      }
    const differing = await ask('conversations/b/calls/2')
    expect(differing.json).toMatchObject({
      state: 'differs',
      isSame: false,
      finding: {
        kind: 'event',
        event: 1,
        message: 'event 1 is not what the request showed',
      },
    })
    const { headers } = await ask('conversations/b/calls/2/request')
    for await (const its of other.calls()) expect(await other.sent(its)).toEqual(await other.sent(its.number))
    await expect(other.sent({} as never)).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'call' })
    expect(headers.get('palimpsest-receipt')).toBe('differs')
    expect(headers.get('palimpsest-difference')).toBe('event 1')
    expect(receipts[1]?.digest).toBe(headers.get('palimpsest-digest'))
  })

  test('that is being made is pending, and of the one after it there is none', async () => {
    const { ask, store } = await serving()
    await store.conversation('a').append(question)
    expect((await ask(`${call}/1`)).json).toMatchObject({
      number: 1,
      state: 'pending',
      request: { messages: [{ role: 'user' }] },
    })
    expect((await ask(`${call}/1/request`)).headers.get('palimpsest-receipt')).toBe('pending')
    expect(await ask(`${call}/1/receipt`)).toMatchObject({ status: 404, json: { tag: 'NotFound' } })
    expect(await ask(`${call}/2`)).toMatchObject({ status: 404, json: { tag: 'CallOutOfRange' } })
    await store.conversation('a').append({ role: 'assistant', content: 'Yes.' })
    expect(await ask(`${call}/1`)).toMatchObject({ status: 404, json: { tag: 'CallOutOfRange' } })
    for (const wrong of ['0', 'x', 'p', '-1', '1.5'])
      expect([400, 404]).toContain((await ask(`${call}/${wrong}`)).status)
  })
})

test('a call that is not there yet is told by the one before it, not by counting all', async () => {
  const inner = memoryStore()
  let counted = 0
  const store = await openStore({
    ...inner,
    read: (range) => {
      if (range.stream === 'conversation-w' && range.from === 0 && range.limit > 1) counted++
      return inner.read(range)
    },
  })
  atEnd(store.close)
  const chat = store.conversation('w')
  await chat.append(question)
  await chat.turn({
    client: wiper,
    model: 'm',
    tools: [{ name: 'wipe', input_schema: { type: 'object' } }],
    run: { wipe: { run: () => 'wiped', approve: true } },
  })
  const { ask } = await serving({ store })
  expect((await ask('conversations/w/calls/2')).json).toMatchObject({ number: 2, state: 'pending' })
  await chat.append({ role: 'assistant', content: 'Never mind.' })
  const next = await ask('conversations/w/calls/2')
  expect(next).toMatchObject({ status: 404, json: { tag: 'CallOutOfRange', calls: 1 } })
  expect(counted).toBe(0)
  expect((await ask('conversations/w/calls/9')).json).toMatchObject({ tag: 'CallOutOfRange', calls: 1 })
  expect(counted).toBe(1)
})

describe('a reply without a receipt', () => {
  test('of an imported conversation is listed, and its request reconstructed', async () => {
    const { ask, store } = await serving()
    const text = readFileSync(new URL('../../examples/sessions/claude-code.jsonl', import.meta.url), 'utf8')
    const { conversations } = await store.importSession({ file: 'claude-code.jsonl', text })
    const { id = '' } = conversations[0] ?? {}
    const { json } = await ask(`conversations/${id}/calls`)
    const items = json['items'] as readonly { readonly position: number; readonly number?: number }[]
    expect(items.length).toBeGreaterThan(1)
    for (const { position, number } of items) {
      expect(number).toBeUndefined()
      const got = await ask(`conversations/${id}/calls/p${position}`)
      expect(got.json).toMatchObject({ position, state: 'reconstructed' })
      const { messages } = await store.conversation(id).render({ at: position - 1 })
      const { json: body, headers } = await ask(`conversations/${id}/calls/p${position}/request`)
      expect(headers.get('palimpsest-receipt')).toBe('reconstructed')
      expect(body['messages']).toEqual(JSON.parse(JSON.stringify(messages)))
      expect(await ask(`conversations/${id}/calls/p${position}/receipt`)).toMatchObject({ status: 404 })
      const { status, json: told } = await ask(`conversations/${id}/calls/p${position}/why`)
      const known = await why(store.conversation(id), { call: `p${position}` })
      expect([status, told]).toEqual([200, JSON.parse(JSON.stringify(known))])
      expect(told).toMatchObject({ call: `p${position}`, derived: {} })
    }
    expect(await ask(`conversations/${id}/calls/p0`)).toMatchObject({
      status: 404,
      json: { tag: 'NotFound' },
    })
  })

  test('after replies that have one is missing', async () => {
    const { client } = await claude([])
    const { ask, chat } = await turned(client)
    await chat.append([question, { role: 'assistant', content: 'Yes.', origin: { model: 'm' } }])
    const { json } = await ask(call)
    const items = json['items'] as readonly { readonly position: number; readonly number?: number }[]
    expect(items.map(({ number }) => number)).toEqual([1, 2, undefined])
    const last = items.at(-1)?.position ?? 0
    expect((await ask(`${call}/p${last}`)).json).toMatchObject({
      state: 'missing',
      request: { model: 'm', parameters: { max_tokens: 99 } },
    })
    const first = await ask(`${call}?limit=1`)
    expect(first.json).toMatchObject({ items: [{ number: 1 }], next: items[1]?.position })
    const rest = await ask(`${call}?from=${String(first.json['next'])}`)
    expect((rest.json['items'] as object[]).length).toBe(2)
  })
})
