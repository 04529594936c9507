import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Chat } from '@ai-sdk/react'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { getRequestListener } from '@hono/node-server'
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  DefaultChatTransport,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import fc from 'fast-check'
import { build } from 'rolldown'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type ChatStore, type ChatStoreOptions, chatStore } from '../../src/frameworks/ai-sdk.ts'
import { stepsOf } from '../../src/frameworks/ui-messages.ts'
import { type Block, openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { browsing, noBrowser } from '../support/browser.ts'
import { root } from '../support/kept.ts'
import { endsWithTest, startHeard } from '../support/node.ts'
import { runs } from '../support/runs.ts'
import { opened } from '../support/stores.ts'

const json = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A
const user = (id: string, text: string): UIMessage => ({ id, role: 'user', parts: [{ type: 'text', text }] })
const reply = (id: string, ...parts: UIMessage['parts']): UIMessage => ({ id, role: 'assistant', parts })

/** Waits until an assertion holds, on a slow machine, too. */
const eventually = (check: () => unknown): Promise<unknown> =>
  vi.waitFor(check, { timeout: 240_000, interval: 20 })

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-chat-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const input = { path: 'src/parser.ts', pattern: 'a bracket that is never closed' }
const call = { type: 'tool-search' as const, toolCallId: 'call_1', input }
const approval = { id: 'approval_1' }
const png = `data:image/png;base64,iVBORw0KGgo${'AAAA'.repeat(40)}`
/** A message of each kind of part. */
const kinds: Readonly<Record<string, UIMessage>> = {
  'a text': reply('a', {
    type: 'text',
    text: 'A bracket is missing.',
    state: 'done',
    providerMetadata: { openai: { itemId: 'x' } },
  }),
  'an empty text': reply('a', { type: 'text', text: '' }),
  reasoning: reply(
    'a',
    {
      type: 'reasoning',
      text: 'Look at the end first.',
      providerMetadata: { anthropic: { signature: 'c2ln'.repeat(20) } },
    },
    { type: 'reasoning', text: '', providerMetadata: { anthropic: { redactedData: 'ZGF0YQ' } } },
  ),
  'a call whose input streams': reply('a', { ...call, state: 'input-streaming', input: { path: 'sr' } }),
  'a call': reply('a', { ...call, state: 'input-available', providerExecuted: true }),
  'a call to be approved': reply('a', { ...call, state: 'approval-requested', approval }),
  'an approved call': reply('a', {
    ...call,
    state: 'approval-responded',
    approval: { ...approval, approved: true, reason: 'yes' },
  }),
  'a result': reply('a', {
    ...call,
    state: 'output-available',
    output: { lines: [1, 2, 3], found: 'the last bracket of the file' },
  }),
  'a result that is a text': reply('a', {
    ...call,
    state: 'output-available',
    output: 'found in line 60, at the end of the file',
  }),
  'a preliminary result': reply('a', { ...call, state: 'output-available', output: null, preliminary: true }),
  'a failed call': reply('a', { ...call, state: 'output-error', errorText: 'no such file' }),
  'a denied call': reply('a', {
    ...call,
    state: 'output-denied',
    approval: { ...approval, approved: false, reason: 'no' },
  }),
  'a dynamic call': reply('a', {
    type: 'dynamic-tool',
    toolName: 'search',
    toolCallId: 'call_2',
    state: 'output-available',
    input,
    output: [input],
  }),
  'a file': {
    id: 'q',
    role: 'user',
    parts: [{ type: 'file', mediaType: 'image/png', filename: 'a.png', url: png }],
  },
  'a file elsewhere': {
    id: 'q',
    role: 'user',
    parts: [{ type: 'file', mediaType: 'application/pdf', url: 'https://example.org/a.pdf' }],
  },
  sources: reply(
    'a',
    { type: 'source-url', sourceId: 's', url: 'https://example.org', title: 'Example' },
    { type: 'source-document', sourceId: 'd', mediaType: 'text/plain', title: 'A file' },
  ),
  data: reply('a', { type: 'data-weather', id: 'w', data: { city: 'Berlin', degrees: [3, 4.5] } }),
  steps: reply(
    'a',
    { type: 'step-start' },
    { type: 'text', text: 'I search for it in the parser first.' },
    { ...call, state: 'output-available', output: 'found in line 60, at the end of the file' },
    { type: 'step-start' },
    { type: 'text', text: 'The bracket in line 60 is never closed.' },
  ),
  metadata: {
    ...user('q', 'Why does it fail?'),
    metadata: { at: 1_700_000_000, tags: ['a'], $block: ['x'] },
  },
  'a message without parts': { id: '', role: 'assistant', parts: [] },
  'a message of the system': { id: 's', role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
  'what nobody knows': {
    id: 'x',
    role: 'user',
    parts: [{ type: 'text', text: 7 }, { kind: 'z' }, null] as never,
  },
}

const anyText = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.constantFrom('The same text, long enough to be shared by parts.', png),
)
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(input, { $block: [0, 0, 'text'] }, JSON.stringify(input)),
)
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: anyText, state: fc.constantFrom('streaming', 'done') }),
  fc.record({ type: fc.constantFrom('step-start') }),
  fc.record({
    type: fc.constant('reasoning'),
    text: anyText,
    providerMetadata: fc.dictionary(anyText, value),
  }),
  fc.record({
    type: fc.constantFrom('tool-search', 'dynamic-tool'),
    toolName: fc.constant('search'),
    toolCallId: fc.constantFrom('call_1', 'call_2'),
    state: fc.constantFrom(
      'input-streaming',
      'input-available',
      'output-available',
      'output-error',
      'output-denied',
    ),
    input: value,
    output: value,
    errorText: anyText,
  }),
  fc.record({
    type: fc.constant('file'),
    mediaType: fc.constantFrom('image/png', 'text/plain', ''),
    url: anyText,
  }),
  fc.record({ type: fc.constant('data-x'), data: value }),
  fc.constantFrom(...Object.values(kinds).flatMap(({ parts }) => parts)),
)
const message = fc.record(
  {
    id: fc.string({ maxLength: 3 }),
    role: fc.constantFrom('user', 'assistant', 'system'),
    metadata: value,
    parts: fc.array(part, { maxLength: 4 }),
  },
  { requiredKeys: ['id', 'role', 'parts'] },
) as fc.Arbitrary<UIMessage>

/** A change of the list of messages; a number is taken modulo the length. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), messages: fc.array(message, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('grow' as const), part }),
  fc.record({ kind: fc.constantFrom('edit' as const, 'insert' as const), at: fc.nat(), message }),
  fc.record({ kind: fc.constantFrom('remove' as const, 'cut' as const, 'swap' as const), at: fc.nat() }),
  fc.record({ kind: fc.constantFrom('same' as const, 'reopen' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const changed = (messages: readonly UIMessage[], change: Step): UIMessage[] => {
  const copy = [...messages]
  const at = 'at' in change ? change.at % (copy.length + 1) : 0
  switch (change.kind) {
    case 'add':
      return [...copy, ...change.messages]
    case 'grow': {
      const last = copy.pop()
      return last ? [...copy, { ...last, parts: [...last.parts, change.part as never] }] : copy
    }
    case 'edit':
      copy.splice(at, 1, change.message)
      return copy
    case 'insert':
      copy.splice(at, 0, change.message)
      return copy
    case 'remove':
      copy.splice(at, 1)
      return copy
    case 'cut':
      return copy.slice(0, at)
    case 'swap':
      return [...copy.slice(at), ...copy.slice(0, at)]
    case 'same':
    case 'reopen':
      return copy
  }
}

describe('the messages of a chat', () => {
  test.for(Object.entries(kinds))('come back as they were saved: %s', async ([, given]) => {
    const chats = chatStore(await opened('memory:'))
    await chats.save('c', [user('q', 'Why?'), given, given])
    expect(await chats.load('c')).toStrictEqual(json([user('q', 'Why?'), given, given]))
  })

  test('are those of a plain map, whatever is saved, also when they are opened again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('a', 'b'), step), { maxLength: 15 }),
        async (steps) => {
          const store = await openStore('memory:')
          const saved = new Map<string, string>()
          let chats = chatStore(store)
          for (const [id, each] of steps) {
            if (each.kind === 'reopen') chats = chatStore(store)
            const before = JSON.parse(saved.get(id) ?? '[]') as UIMessage[]
            const messages = changed(before, each)
            await chats.save(id, messages)
            saved.set(id, JSON.stringify(messages))
            for (const [known, text] of saved) expect(await chats.load(known)).toStrictEqual(JSON.parse(text))
          }
          await store.close()
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('are stored once: what a step says is not repeated in its message', async () => {
    const output = { text: 'x'.repeat(5_000) }
    const given = reply(
      'a',
      { type: 'text', text: 'y'.repeat(5_000) },
      { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${'QUJD'.repeat(2_000)}` },
      { ...call, state: 'output-available', output },
    )
    const size = JSON.stringify(stepsOf(given)).length
    expect(size).toBeLessThan(JSON.stringify(given).length + 1_000)
  })

  test('are recorded as a difference', async () => {
    const store = await opened('memory:')
    const chats = chatStore(store)
    const chat = store.conversation('c')
    const first = [
      user('q1', 'Why does it fail?'),
      reply('a1', { type: 'text', text: 'A bracket is missing.' }),
    ]
    await chats.save('c', first)
    await chats.save('c', first)
    expect(await chat.position()).toBe(1)
    await chats.save('c', [...first, user('q2', 'Where?')])
    expect(await chat.position()).toBe(2)
    // Edited, as by a user who asks again: one rewind, one message.
    await chats.save('c', [user('q1', 'Why does the parser fail?')])
    const types: string[] = []
    for await (const { type } of chat.events()) types.push(type)
    expect(types).toEqual([
      'MessageAppended',
      'MessageAppended',
      'MessageAppended',
      'Rewound',
      'MessageAppended',
    ])
    // Nothing is lost.
    await chat.rewind({ to: 2 })
    expect(await chats.load('c')).toEqual([...first, user('q2', 'Where?')])
  })

  test('keep the steps of a reply that grows', async () => {
    const store = await opened('memory:')
    const chats = chatStore(store)
    const steps = kinds['steps'] as UIMessage
    const more = {
      ...steps,
      parts: [...steps.parts, { type: 'step-start' as const }, { type: 'text' as const, text: 'Close it.' }],
    }
    await chats.save('c', [user('q', 'Why?'), steps])
    const before = await store.conversation('c').position()
    await chats.save('c', [user('q', 'Why?'), more])
    // A rewind, the last step anew, and the new one.
    expect(await store.conversation('c').position()).toBe(before + 3)
    expect(await chats.load('c')).toEqual([user('q', 'Why?'), more])
  })

  test('are a conversation like any other, which others may change', async () => {
    const store = await opened('memory:')
    const chats = chatStore(store)
    const chat = store.conversation('c')
    await chats.save('c', [user('q', 'Why does it fail?'), kinds['steps'] as UIMessage, user('q2', 'Thanks')])
    const shown = (await chat.effective()).map((item) =>
      item.kind === 'message' ? [item.role, item.content.map(({ type }) => type)] : item.kind,
    )
    expect(shown).toEqual([
      ['user', ['text']],
      ['assistant', ['text', 'tool_use']],
      ['user', ['tool_result']],
      ['assistant', ['text']],
      ['user', ['text']],
    ])
    await chat.condense({ covers: { first: 1, last: 3 }, summary: 'It was a bracket.', method: 'manual' })
    const condensed = await chats.load('c')
    expect(condensed.map(({ parts }) => parts)).toEqual([
      [{ type: 'text', text: 'Why does it fail?' }],
      [{ type: 'text', text: 'It was a bracket.' }],
      [{ type: 'text', text: 'Thanks' }],
    ])
    // The page sends them back with one more.
    await chats.save('c', [...condensed, user('q3', 'Once more')])
    expect(await chats.load('c')).toEqual([...condensed, user('q3', 'Once more')])
    expect((await chat.effective()).map(({ kind }) => kind)).toEqual([
      'message',
      'summary',
      'message',
      'message',
    ])
  })

  test('keep the ids that they were loaded with when what follows a summary or an erased reply is replaced', async () => {
    const store = await opened('memory:')
    const [chats, chat] = [chatStore(store), store.conversation('c')]
    const search = { ...call, state: 'output-available', output: 'line 60' } as const
    const asked = [
      user('a', 'Why?'),
      reply('b', search, { type: 'step-start' }, { type: 'text', text: 'So.' }),
    ]
    await chats.save('c', [...asked, user('c', 'And then?'), user('d', 'Wait.')])
    await chat.condense({ summary: 'Nothing yet.', keepFirst: 0, keepLast: 1 })
    const short = (await chats.load('c')).slice(0, -1)
    await chats.save('c', short)
    expect(await chats.load('c')).toEqual(short)
    expect(short.map(({ id }) => id)).toEqual(['position-6'])

    await chats.save('c', [...asked, user('c', 'And then?')])
    const last = await chat.position()
    await chat.erase({ positions: [last - 1], by: 'ann' })
    const [first] = await chat.effective()
    await chat.truncate({ covers: { first: first?.position ?? 0, last: first?.position ?? 0 } })
    const next = [...(await chats.load('c')).slice(0, -1), user('e', 'So?')]
    await chats.save('c', next)
    expect(await chats.load('c')).toEqual(next)
    expect(next.map(({ id }) => id)).toEqual([expect.stringMatching(/^position-/), 'e'])
  })

  test('are also those that an agent recorded', async () => {
    const store = await opened('memory:')
    const chat = store.conversation('c')
    const use: Block[] = [
      { type: 'thinking', thinking: 'Look.' },
      { type: 'tool_use', id: 't1', name: 'read', input: { at: 1 } },
      { type: 'tool_use', id: 't2', name: 'read', input: { at: 2 } },
    ]
    await chat.append([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
        ],
      },
      { role: 'assistant', content: use },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: 'one' },
          { type: 'tool_result', tool_use_id: 't2', content: 'no', is_error: true },
        ],
      },
      { role: 'assistant', content: 'It is one.' },
    ])
    const messages = await chatStore(store).load('c')
    const base = { type: 'dynamic-tool', toolName: 'read' }
    expect(messages).toEqual([
      {
        id: 'position-0',
        role: 'user',
        parts: [
          { type: 'text', text: 'What is this?' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,QUJD' },
        ],
      },
      {
        id: 'position-1',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'reasoning', text: 'Look.' },
          { ...base, toolCallId: 't1', state: 'output-available', input: { at: 1 }, output: 'one' },
          { ...base, toolCallId: 't2', state: 'output-error', input: { at: 2 }, errorText: 'no' },
          { type: 'step-start' },
          { type: 'text', text: 'It is one.' },
        ],
      },
    ])
  })

  test('are all there after saves by several stores at once', async () => {
    const url = `sqlite:${join(newFolder(), 'chats.db')}`
    const stores = [chatStore(await opened(url)), chatStore(await opened(url))]
    const [one, other] = stores as [ChatStore, ChatStore]
    await one.save('c', [user('q', 'Why?')])
    await Promise.all([
      one.save('c', [user('q', 'Why?'), user('1', 'one')]),
      other.save('c', [user('q', 'Why?'), user('2', 'two')]),
    ])
    const last = (await one.load('c')).map(({ id }) => id)
    expect([
      ['q', '1'],
      ['q', '2'],
    ]).toContainEqual(last)
    expect(await other.load('c')).toEqual(await one.load('c'))
  })

  test.for<[unknown, string]>([
    ['text', 'messages'],
    [[{ role: 'user', content: 'Why?' }], 'messages[0].id'],
    [[{ id: 'a', role: 'tool', parts: [] }], 'messages[0].role'],
    [[user('q', 'Why?'), { id: 'a', role: 'user', content: 'Why?' }], 'messages[1].parts'],
    [[{ ...user('q', 'Why?'), metadata: { at: new Date() } }], 'messages[0].metadata.at'],
  ])('that are none are refused, and nothing is written: %j', async ([given, path]) => {
    const store = await opened('memory:')
    const chats = chatStore(store)
    await expect(chats.save('c', given as UIMessage[])).rejects.toMatchObject({ _tag: 'InvalidInput', path })
    expect(await chats.load('c')).toEqual([])
  })
})

/** A model whose replies the test writes. */
const scripted = () => {
  let write: ReadableStreamDefaultController<LanguageModelV4StreamPart>
  let begin: () => void = () => undefined
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  const model = new MockLanguageModelV4({
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        start: (controller) => {
          write = controller
          controller.enqueue({ type: 'stream-start', warnings: [] })
          begin()
        },
      }),
    }),
  })
  const finish = (reason: 'stop' | 'tool-calls') => {
    write.enqueue({ type: 'finish', finishReason: { unified: reason, raw: reason }, usage })
    write.close()
  }
  return {
    model,
    /** Waits for the next call of the model. */
    called: () => new Promise<void>((resolve) => (begin = resolve)),
    say: (text: string) => write.enqueue({ type: 'text-delta', id: 't', delta: text }),
    start: () => write.enqueue({ type: 'text-start', id: 't' }),
    end: () => {
      write.enqueue({ type: 'text-end', id: 't' })
      finish('stop')
    },
    call: (asked: object) => {
      write.enqueue({
        type: 'tool-call',
        toolCallId: 'call_1',
        toolName: 'look',
        input: JSON.stringify(asked),
      })
      finish('tool-calls')
    },
  }
}

/** Serves a chat as the documentation shows it, and other files. */
const served = async (
  chats: ChatStore,
  model: MockLanguageModelV4,
  others: Readonly<Record<string, readonly [type: string, text: string]>> = {},
): Promise<string> => {
  const kept: Promise<void>[] = []
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    const [, id = '', isStream] = /^\/api\/chat\/([^/]+)(\/stream)?$/.exec(pathname) ?? []
    if (isStream) return chats.resume(id)
    if (id) return Response.json(await chats.load(id))
    const [type, body] = others[pathname] ?? []
    if (type) return new Response(body, { headers: { 'content-type': type } })
    if (pathname !== '/api/chat') return new Response(null, { status: 404 })
    const { id: chat, messages } = (await request.json()) as { id: string; messages: UIMessage[] }
    await chats.save(chat, messages)
    const look = tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => ({ found: at }) })
    const result = streamText({
      model,
      messages: await convertToModelMessages(messages),
      tools: { look },
      stopWhen: isStepCount(3),
    })
    return createUIMessageStreamResponse({
      stream: toUIMessageStream({
        stream: result.stream,
        originalMessages: messages,
        generateMessageId: () => `reply-${messages.length}`,
        onEnd: ({ messages: all }) => chats.save(chat, all),
      }),
      consumeSseStream: ({ stream }) => void kept.push(chats.keepStream(chat, stream)),
    })
  }
  const server = createServer(getRequestListener(answer))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(async () => {
    server.closeAllConnections()
    server.close()
    await Promise.all(kept)
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const clientOf = (url: string, id: string, messages: UIMessage[] = []) =>
  new Chat<UIMessage>({ id, messages, transport: new DefaultChatTransport({ api: `${url}/api/chat` }) })

const chatsIn = async (
  options: ChatStoreOptions = {},
): Promise<{ store: Store; chats: ChatStore; url: string }> => {
  const url = `sqlite:${join(newFolder(), 'chats.db')}`
  const store = await opened(url)
  return { store, url, chats: chatStore(store, options) }
}

const textIn = ({ parts }: UIMessage | undefined = user('', '')): string =>
  parts.map((each) => (each.type === 'text' ? each.text : '')).join('')

const eventsOf = async (response: Response): Promise<readonly string[]> =>
  (await response.text())
    .split('\n\n')
    .flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []))

describe('a chat over HTTP', () => {
  test('has in the store what the client shows, with calls and their results', async () => {
    const { store, chats } = await chatsIn()
    const script = scripted()
    const url = await served(chats, script.model)
    const client = clientOf(url, 'c')
    let called = script.called()
    const sent = client.sendMessage({ text: 'Why does it fail?' })
    await called
    called = script.called()
    script.call({ at: 'line 60' })
    await called
    script.start()
    script.say('A bracket is missing.')
    script.end()
    await sent
    expect(client.status).toBe('ready')
    expect(await chats.load('c')).toEqual(json(client.messages))
    expect(client.messages[1]?.parts.map(({ type }) => type)).toEqual([
      'step-start',
      'tool-look',
      'step-start',
      'text',
    ])
    expect(
      (await store.conversation('c').effective()).map((item) => item.kind === 'message' && item.role),
    ).toEqual(['user', 'assistant', 'user', 'assistant'])
    await eventually(async () => expect((await chats.resume('c')).status).toBe(204))
  })

  test('goes on in a client that comes back, through another store', async () => {
    const { chats, url: file } = await chatsIn()
    const script = scripted()
    const url = await served(chats, script.model)
    const first = clientOf(url, 'c')
    const called = script.called()
    const sent = first.sendMessage({ text: 'Why does it fail?' })
    await called
    script.start()
    script.say('A bracket ')
    await eventually(() => expect(textIn(first.messages[1])).toBe('A bracket '))
    await first.stop()
    await sent

    const other = chatStore(await opened(file))
    const elsewhere = await served(other, script.model)
    const second = clientOf(elsewhere, 'c', await other.load('c'))
    expect(second.messages).toHaveLength(1)
    const resumed = second.resumeStream()
    await eventually(() => expect(textIn(second.messages[1])).toBe('A bracket '))
    script.say('is missing.')
    await eventually(() => expect(textIn(second.messages[1])).toBe('A bracket is missing.'))
    script.end()
    await resumed
    expect(second.status).toBe('ready')
    expect(await other.load('c')).toEqual(json(second.messages))
    // What is saved is not sent again.
    const third = clientOf(elsewhere, 'c', await other.load('c'))
    await third.resumeStream()
    expect(third.messages).toEqual(json(second.messages))
  })
})

describe('the stream of a reply', () => {
  const question = [user('q', 'Why?')]
  const streamOf = (chunk: string) =>
    new ReadableStream<string>({
      start: (controller) => {
        controller.enqueue(chunk)
        controller.close()
      },
    })
  /** Keeps a stream that the test writes; resolves once it can be resumed. */
  const keeping = async ({ store, chats }: { store: Store; chats: ChatStore }) => {
    let write: ReadableStreamDefaultController<string> | undefined
    const chat = store.conversation('c')
    const marks = () => chat.notes({ kind: 'ai-sdk/stream' })
    const { length } = await marks()
    const source = new ReadableStream<string>({ start: (controller) => void (write = controller) })
    const kept = chats.keepStream('c', source)
    await eventually(async () => expect((await marks()).length).toBe(length + 1))
    return {
      kept,
      write: (event: string) => write?.enqueue(`data: ${event}\n\n`),
      close: () => write?.close(),
      fail: (error: Error) => write?.error(error),
    }
  }

  test('is sent again event by event, and not after its end', async () => {
    const scene = await chatsIn()
    const { chats } = scene
    await chats.save('c', question)
    const open = await keeping(scene)
    open.write('{"type":"start"}')
    const response = await chats.resume('c')
    expect(response.status).toBe(200)
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    const all = eventsOf(response)
    const many = Array.from({ length: 500 }, (_, n) =>
      JSON.stringify({ type: 'text-delta', id: '1', delta: `${n} ` }),
    )
    const large = JSON.stringify('ä'.repeat(100_000))
    for (const event of [...many, large]) open.write(event)
    open.close()
    await open.kept
    expect(await all).toEqual(['{"type":"start"}', ...many, large])
    expect((await chats.resume('c')).status).toBe(204)
    expect(await chats.load('c')).toEqual(question)
  })

  test('that fails ends with an error', async () => {
    const scene = await chatsIn()
    const { chats } = scene
    await chats.save('c', question)
    const open = await keeping(scene)
    open.write('{"type":"start"}')
    const response = await chats.resume('c')
    open.fail(new Error('the model is overloaded'))
    await open.kept
    const events = await eventsOf(response)
    expect(JSON.parse(events.at(-1) ?? '')).toEqual({
      type: 'error',
      errorText: 'The reply failed: the model is overloaded',
    })
    expect((await chats.resume('c')).status).toBe(204)
  })

  test('is the newest one, also if an older one ends later', async () => {
    const scene = await chatsIn()
    const { chats } = scene
    await chats.save('c', question)
    const old = await keeping(scene)
    const newer = await keeping(scene)
    newer.write('"new"')
    old.write('"old"')
    old.close()
    await old.kept
    const response = await chats.resume('c')
    newer.close()
    await newer.kept
    expect(await eventsOf(response)).toEqual(['"new"'])
  })

  test('is not sent once its reply is saved', async () => {
    const scene = await chatsIn()
    const { chats } = scene
    await chats.save('c', question)
    const open = await keeping(scene)
    open.write('{"type":"start"}')
    await chats.save('c', [...question, reply('a', { type: 'text', text: 'Because.' })])
    expect((await chats.resume('c')).status).toBe(204)
    open.close()
    await open.kept
  })

  test('is not that of a fork', async () => {
    const scene = await chatsIn()
    const { store, chats } = scene
    await chats.save('c', question)
    const open = await keeping(scene)
    await store.conversation('c').fork('fork')
    expect((await chats.resume('fork')).status).toBe(204)
    expect(await chats.load('fork')).toEqual(question)
    open.close()
    await open.kept
  })

  test('lives while its process is silent', async () => {
    const scene = await chatsIn({ silence: 4_500 })
    const { chats } = scene
    await chats.save('c', question)
    const open = await keeping(scene)
    const response = await chats.resume('c')
    let said = ''
    let signs = 0
    for await (const piece of response.body ?? []) {
      said += new TextDecoder().decode(piece)
      signs += 1
      // By now, more than its silence has passed.
      if (signs === 4) open.close()
    }
    await open.kept
    expect(said).toBe(': the reply continues\n\n'.repeat(signs))
  })

  test('stops being read when its client leaves', async () => {
    const scene = await chatsIn()
    await scene.chats.save('c', question)
    const open = await keeping(scene)
    const response = await scene.chats.resume('c')
    const reader = response.body?.getReader()
    const read = reader?.read()
    await reader?.cancel()
    expect(await read).toEqual({ done: true, value: undefined })
    open.close()
    await open.kept
  })

  test('whose process was killed ends with an error', async () => {
    const folder = newFolder()
    const url = `sqlite:${join(folder, 'chats.db')}`
    const child = startHeard('frameworks/children/chat-writer.ts', url, 'c')
    endsWithTest(child)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    const store = await opened(url)
    const chats = chatStore(store, { silence: 600 })
    await eventually(async () =>
      expect(await store.conversation('c').notes({ kind: 'ai-sdk/stream-events' })).not.toEqual([]),
    )
    const response = await chats.resume('c')
    child.kill('SIGKILL')
    const events = await eventsOf(response)
    expect(events.slice(0, 3).join()).toContain('Because')
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ type: 'error' })
    expect(events.at(-1)).toBe('[DONE]')
    // A new reply takes its place.
    await chats.keepStream('c', streamOf('data: "next"\n\n'))
    expect((await chats.resume('c')).status).toBe(204)
  })

  test('is not kept of a chat that was not saved: its program is told', async () => {
    const problems: [string, string][] = []
    const store = await opened('memory:')
    const chats = chatStore(store, {
      onProblem: (error, id) => problems.push([(error as Error & { _tag: string })._tag, id]),
    })
    // As the AI SDK splits it: the client reads the other half.
    const [client, kept] = streamOf('data: 1\n\n').tee()
    await chats.keepStream('c', kept)
    expect((await client.getReader().read()).value).toBe('data: 1\n\n')
    expect(problems).toEqual([['ConversationNotFound', 'c']])
    expect((await chats.resume('c')).status).toBe(204)
    expect(() => chatStore(store, { silence: Number.NaN })).toThrow('silence')
  })
})

describe(`a chat page${noBrowser}`, () => {
  test.skipIf(noBrowser !== '')(
    'shows the rest of a reply after a reload, and all messages after another',
    async () => {
      const { output } = await build({
        input: join(root, 'test/frameworks/children/chat-page.jsx'),
        cwd: root,
        platform: 'browser',
        write: false,
        logLevel: 'silent',
        transform: { define: { 'process.env.NODE_ENV': '"production"' } },
      })
      const { chats } = await chatsIn()
      const script = scripted()
      const url = await served(chats, script.model, {
        '/': [
          'text/html',
          '<!doctype html><title>Chat</title><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/page.js"></script>',
        ],
        '/page.js': ['text/javascript', output[0].code],
      })
      const page = await browsing()
      await page.goto(url)
      const called = script.called()
      await page.getByLabel('Message').fill('Why does it fail?')
      await page.getByLabel('Message').press('Enter')
      await called
      script.start()
      script.say('A bracket ')
      const answer = page.locator('[data-role=assistant]')
      await answer.getByText('A bracket').waitFor()

      await page.reload()
      await answer.getByText('A bracket').waitFor()
      script.say('is missing.')
      await answer.getByText('A bracket is missing.').waitFor()
      script.end()
      await page.getByText('ready', { exact: true }).waitFor()

      await page.reload()
      await page.getByText('ready', { exact: true }).waitFor()
      await eventually(async () =>
        expect(await page.locator('[data-role]').allTextContents()).toEqual([
          'Why does it fail?',
          'A bracket is missing.',
        ]),
      )
    },
  )
})
