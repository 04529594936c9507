import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { currentRenderer } from '../../../src/agent/receipts/request.ts'
import { type Conversation, openStore } from '../../../src/index.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import { type MessagesApi, messagesApi } from '../../../src/testing/messages-api/server.ts'
import { anthropicRequest } from '../../../src/transfer/formats/write-anthropic.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolResult, toolUse } from '../../support/log.ts'
import { imageOf, png } from '../../support/pictures.ts'
import { scene, task, yes } from '../../support/turn-scene.ts'

// Turns of a content that an API or a tool rarely sees.

describe('a turn that has nothing to answer', () => {
  const model = 'claude-opus-5-5'

  it.each<readonly [string, (chat: Conversation) => Promise<unknown>]>([
    ['only a configuration', (chat) => chat.configure({ model, parameters: { max_tokens: 100 } })],
    ['only blank texts', (chat) => chat.append([{ role: 'user', content: ' ' }])],
    [
      'only what no request may hold',
      (chat) => chat.append([{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }]),
    ],
    [
      'only what is truncated',
      async (chat) => {
        await chat.append({ role: 'user', content: 'Fix it. '.repeat(2_000) })
        await chat.truncate({ covers: { first: 0, last: 0 } })
      },
    ],
    [
      'a reply as the last word, too long as it is',
      async (chat) => {
        await chat.configure({ model, parameters: { max_tokens: 100 } })
        for (let n = 0; n < 8; n++)
          await chat.append([
            { role: 'user', content: 'Fix it. '.repeat(200) },
            { role: 'assistant', content: [text('Done. '.repeat(200))] },
          ])
      },
    ],
  ])('a turn with %s is refused before anything is sent or written', async (_, prepare) => {
    const api = await messagesApi()
    const store = await openStore('memory:')
    atEnd(api.close, store.close)
    const chat = store.conversation('c')
    await prepare(chat)
    const before = await chat.position()
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const turned = chat.turn({ client, model, parameters: { max_tokens: 100 }, context: { window: 2_000 } })
    await expect(turned).rejects.toMatchObject({ _tag: 'NothingToAnswer' })
    expect([api.requests, await chat.position()]).toEqual([[], before])
  })

  it('the tokens of a conversation in which nothing is said are not asked of the API', async () => {
    const api = await messagesApi()
    const store = await openStore('memory:')
    atEnd(api.close, store.close)
    const chat = store.conversation('c')
    await chat.configure({ model, system: 'Be brief.' })
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const count = await chat.tokens({ client })
    expect([count.exact, count.total > 0, api.requests]).toEqual([undefined, true, []])
  })
})

describe('a reply that repeats an id', () => {
  const done = { content: [text('done')] }

  describe('calls of one reply with the same id', () => {
    it('are each run once, with their own input', async () => {
      const write = (path: string) => ({ ...toolUse('same', { path }), name: 'write' })
      const { turn } = await scene([{ content: [write('a'), write('b')] }, done])
      const written: unknown[] = []
      await turn({
        tools: [{ name: 'write', input_schema: { type: 'object' } }],
        run: { write: ({ path }: { path: string }) => written.push(path) && 'written' },
      })
      expect(written).toEqual(['a', 'b'])
    })

    it('are not run if somebody would have to approve them: one decision would be for all of them', async () => {
      const write = (path: string) => ({ ...toolUse('same', { path }), name: 'write' })
      const { turn, chat, api } = await scene([{ content: [write('a'), write('b')] }, done])
      const written: unknown[] = []
      const { waiting, ended } = await turn({
        tools: [{ name: 'write', input_schema: { type: 'object' } }],
        run: {
          write: { run: ({ path }: { path: string }) => written.push(path) && 'written', approve: true },
        },
      })
      expect([written, waiting, ended]).toEqual([[], [], 'stop'])
      expect(JSON.stringify((await chat.render()).messages)).toContain('have the same id')
      expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
    })
  })
})

describe('half a character', () => {
  // JSON can hold half a character, and the API takes none.

  const half = 'a\ud83d'
  const whole = 'a\ufffd'
  const tools = [{ name: 'read', description: half, input_schema: { type: 'object', [half]: half } }]
  const models = { [whole]: {} }

  describe('half a character in what a turn is given is replaced', () => {
    it.each<readonly [string, object, object]>([
      ['the system prompt', { system: half }, { system: [{ text: whole }] }],
      ['a block of the system prompt', { system: [text(half)] }, { system: [{ text: whole }] }],
      ['a tool', { tools }, { tools: [{ description: whole, input_schema: { [whole]: whole } }] }],
      ['the model', { model: half }, { model: whole }],
      ['a parameter', { parameters: { metadata: { user_id: half } } }, { metadata: { user_id: whole } }],
    ])('in %s, also where it is configured so already', async (_, given, sent) => {
      const { chat, turn, api } = await scene([yes], { models })
      await turn(given)
      await chat.configure(given)
      await chat.append(task)
      await turn(given)
      expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
      for (const { body } of api.requests) expect(body).toMatchObject(sent)
      expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
    })

    it('in the settings of a summary', async () => {
      const { chat, turn, api } = await scene([{ content: [text('They talked.')] }, yes], { models })
      for (let turns = 0; turns < 12; turns++)
        await chat.append([{ role: 'assistant', content: 'word '.repeat(200) }, task])
      await turn({
        context: { window: 3_000, reserved: 500 },
        parameters: { max_tokens: 500 },
        summarizer: { model: half, instructions: half },
      })
      expect(new Set(api.requests.map(({ status }) => status))).toEqual(new Set([200]))
      expect(api.requests[0]?.body?.model).toBe(whole)
      const receipts = api.requests.length
      expect(await chat.verifyReceipts()).toMatchObject({ receipts, findings: [] })
    })
  })
})

describe('tools that are recalled', () => {
  const tools = [{ name: 'run', input_schema: { type: 'object' } }]

  it('tools that are recalled for calls reach the API, the count, the receipt and what the audit shows', async () => {
    const { api, client, chat, turn } = await scene([{ content: [text('Done.')] }])
    await chat.configure({ tools, parameters: { tool_choice: { type: 'any' } } })
    await chat.append([
      { role: 'assistant', content: [toolUse('a')] },
      { role: 'user', content: [toolResult('a')] },
      { role: 'assistant', content: 'It ran.' },
      { role: 'user', content: 'And?' },
    ])
    await turn({ tools: [] })
    await chat.append({ role: 'user', content: 'Thanks.' })
    const count = await chat.tokens({ client })
    const [sent, counted] = api.requests.map(
      ({ body }) => body as ApiRequest & { readonly tool_choice?: unknown },
    )
    for (const body of [sent, counted]) {
      expect(body?.tools?.map(({ name }) => name)).toEqual(['run'])
      expect(body?.tool_choice).toEqual({ type: 'none' })
    }
    expect([count.exact !== undefined, api.requests.map(({ status }) => status)]).toEqual([true, [200, 200]])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [] })
    const { request, isSame } = await chat.sent(1)
    expect(isSame).toBe(true)
    expect([request.tools, request.parameters['tool_choice']]).toMatchObject([tools, { type: 'none' }])
    expect(anthropicRequest(await chat.context())).toMatchObject({ tools, tool_choice: { type: 'none' } })
  })

  it('tools that are recalled are counted as a part of the prompt', async () => {
    const { chat } = await scene([])
    const count = async (): Promise<number> => (await chat.tokens()).prompt
    await chat.configure({ model: 'claude-opus-5-5', tools })
    await chat.append({ role: 'assistant', content: [toolUse('a')] })
    const before = await count()
    await chat.configure({ tools: null })
    expect([before > 0, await count()]).toEqual([true, before])
  })
})

describe('images', () => {
  const model = 'claude-haiku-4-5'
  const large = imageOf(png(2_400, 1_800))

  const imageScene = async (
    reply: (n: number) => object = () => text('I see.'),
  ): Promise<{
    readonly api: MessagesApi
    readonly chat: Conversation
    readonly turn: () => Promise<unknown>
  }> => {
    const api = await messagesApi({ reply: (_, n) => ({ content: [reply(n) as ReturnType<typeof text>] }) })
    const store = await openStore('memory:')
    atEnd(api.close, store.close)
    const chat = store.conversation('c')
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
    const tools = [{ name: 'shoot', input_schema: { type: 'object' } }]
    const run = { shoot: () => [imageOf(png(9_000, 20)), large] }
    return { api, chat, turn: () => chat.turn({ client, model, tools, run }) }
  }

  it('a conversation continues after its hundredth image, and every receipt is of what was sent', async () => {
    const { api, chat, turn } = await imageScene()
    for (let nth = 0; nth < 6; nth++) {
      await chat.append({ role: 'user', content: Array.from({ length: 20 }, () => imageOf(png())) })
      await turn()
    }
    await chat.append({ role: 'user', content: [text('And these?'), large] })
    await turn()
    expect(api.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 7, findings: [] })
    const replies = (await chat.effective()).filter(
      (item) => item.kind === 'message' && item.role === 'assistant',
    )
    for (const reply of replies)
      expect(reply).toMatchObject({ origin: { context: { options: { renderer: currentRenderer } } } })
  })

  it('an image of a tool that no model takes is recorded, and the model is told', async () => {
    const { api, chat, turn } = await imageScene((n) =>
      n === 0 ? { ...toolUse('a'), name: 'shoot' } : text('I see.'),
    )
    await chat.append({ role: 'user', content: 'Take a picture.' })
    await turn()
    expect(api.requests.every(({ status }) => status === 200)).toBe(true)
    const [, , result] = await chat.effective()
    expect(JSON.stringify(result)).toContain(png(9_000, 20).toString('base64'))
    expect(JSON.stringify(api.requests.at(-1)?.body)).toContain('[Not shown: image, it has 9000 × 20 pixels')
  })

  it('an image of a session that was imported does not stop it', async () => {
    const api = await messagesApi({ reply: () => ({ content: [text('I see.')] }) })
    const store = await openStore('memory:')
    atEnd(api.close, store.close)
    const messages = [
      { role: 'user', content: [text('See.'), imageOf(png(9_000, 20))] },
      { role: 'assistant', content: 'Where?' },
      { role: 'user', content: [imageOf(png(), 'image/jpeg')] },
    ]
    await store.importSession({ file: 'a.json', text: JSON.stringify(messages), id: 'c' })
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
    await store.conversation('c').turn({ client, model })
    expect(api.requests.map(({ status }) => status)).toEqual([200])
  })
})
