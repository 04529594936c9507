import Anthropic from '@anthropic-ai/sdk'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Roster, type Store, tool, type TurnOptions } from '../../src/index.ts'
import { newRelay, type EventRelay } from '../../src/server/relay.ts'
import { isServed } from '../../src/server/roster.ts'
import { serve } from '../../src/server/serve.ts'
import type { ApiFailure, ApiReply } from '../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../src/testing/messages-api/request.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { atEnd } from '../support/at-end.ts'
import { text } from '../support/log.ts'
import { type Message, posted } from '../support/server/told.ts'
import { opened } from '../support/stores.ts'

type Answer = (body: ApiRequest) => ApiReply | ApiFailure | Promise<ApiReply | ApiFailure>
const hello = { role: 'user', content: 'Is it there?' } as const
const yes: Answer = () => ({ content: [text('Yes, it is there, and it is well.')] })

interface Scene {
  readonly store: Store
  readonly relay: EventRelay
  readonly turns: string
  /** Starts a worker; `isTelling`: it tells the server what happens. What it returns stops it. */
  readonly worker: (isTelling?: boolean, options?: Partial<TurnOptions>) => () => Promise<void>
}

/** A server, and workers whose model answers as it is told. */
const scene = async (answer: Answer = yes, unservedAfter?: number): Promise<Scene> => {
  const api = await messagesApi({ reply: answer })
  const store = await opened('memory:')
  const relay = newRelay()
  const server = await serve({ store, port: 0, relay, unservedAfter })
  atEnd(api.close, server.close)
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  return {
    store,
    relay,
    turns: `${server.url}/api/v1/conversations/a/turns`,
    worker: (isTelling = true, options = {}) => {
      const ends = new AbortController()
      const worker = store.worker({
        turn: () => ({ client, model: 'claude-opus-5-5', maxRetries: 0, ...options }),
        grace: 1_000,
        ...(isTelling && { onEvent: (served) => relay.hear(worker.id, [served]) }),
      })
      if (isTelling) relay.hear(worker.id, [])
      const done = worker.run({ signal: ends.signal })
      const stop = async (): Promise<void> => {
        ends.abort()
        await done
      }
      atEnd(stop)
      return stop
    },
  }
}

const all = async (stream: AsyncIterable<Message>): Promise<readonly Message[]> => {
  const messages = []
  for await (const message of stream) messages.push(message)
  return messages
}
const named = (messages: readonly Message[], event: string): readonly Message[] =>
  messages.filter((message) => message.event === event)
const idsOf = (messages: readonly Message[]): readonly number[] =>
  messages.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]))
const written = (messages: readonly Message[]): string =>
  named(messages, 'text')
    .map(({ data }) => data['text'])
    .join('')
const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await sleep(5)
}

const approved = { input: z.object({}), approve: () => true, run: () => 'sent' } as const
const mail = tool({ name: 'mail', description: 'Sends a mail.', ...approved })
const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), run: () => 'It is there.' })
const calling = (name: string, id = 'toolu_1'): ApiReply => ({
  content: [text('Let me see.'), { type: 'tool_use', id, name, input: {} }],
})
const hasResult = (body: ApiRequest): boolean => JSON.stringify(body.messages.at(-1)).includes('tool_result')

test('a worker that is paused serves the step that it has, and no other', async () => {
  const begun = Promise.withResolvers<void>()
  const answering = Promise.withResolvers<void>()
  const { store, worker } = await scene(async (body) => {
    begun.resolve()
    await answering.promise
    return yes(body)
  })
  await store.conversation('a').append(hello, { answer: true })
  worker(false)
  await begun.promise
  const rosterNow = async (): Promise<Roster> => {
    for await (const roster of store.workers()) return roster
    throw new Error('no roster')
  }
  const [its] = (await rosterNow()).workers
  await store.pauseWorker(its?.worker ?? '', { by: 'ann' })
  const paused = await rosterNow()
  expect(paused.workers).toMatchObject([{ paused: true }])
  expect(isServed(paused, 'a')).toBe(true)
  expect(isServed(paused, 'b')).toBe(false)
  expect(isServed(paused, 'a', Date.now() + 100_000)).toBe(false)
  answering.resolve()
})

describe('a turn that is asked for over HTTP', () => {
  test('is given by a worker that tells: its words come before the reply that is recorded, and the outcome last', async () => {
    const { turns, worker } = await scene()
    worker()
    const messages = await all(posted(turns, { messages: [hello], commandId: 'c1' }))
    expect(messages[0]).toMatchObject({
      event: 'asked',
      data: { conversation: 'a', position: 0, commandId: 'c1', workers: 1, streams: 'tokens' },
    })
    expect(written(messages)).toBe('Yes, it is there, and it is well.')
    const reply = named(messages, 'MessageAppended')
    expect(reply).toHaveLength(1)
    const order = messages.map(({ event }) => event)
    expect(order.lastIndexOf('text')).toBeLessThan(order.indexOf('MessageAppended'))
    expect(messages.at(-1)).toMatchObject({
      event: 'outcome',
      data: { outcome: 'done', stopReason: 'end_turn', position: Number(reply[0]?.id) },
    })
  })

  test('is refused where nothing is asked, as nothing would ever come of it', async () => {
    const { turns, store } = await scene()
    const refusal = async (messages: readonly object[]): Promise<unknown> => {
      const response = await fetch(turns, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ messages }),
      })
      await response.body?.cancel()
      return response.status
    }
    const [done, calls] = [yes({} as ApiRequest), calling('look')] as readonly ApiReply[]
    expect(await refusal([{ role: 'assistant', ...done }])).toBe(400)
    expect(
      await refusal([hello, { role: 'assistant', ...done }, { role: 'system', content: 'Be brief.' }]),
    ).toBe(400)
    expect(await refusal([{ role: 'system', content: 'Be brief.' }])).toBe(400)
    await expect(store.conversation('a').position()).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
    expect(await refusal([hello, { role: 'system', content: 'Be brief.' }])).toBe(200)
    expect(await refusal([hello, { role: 'assistant', ...calls }])).toBe(200)
  })

  test('ends with its outcome if no worker serves it, and is answered once one has started', async () => {
    const { turns, worker } = await scene(yes, 50)
    const body = { messages: [hello], commandId: 'c1' }
    const unserved = await all(posted(turns, body))
    expect(unserved.map(({ event }) => event)).toEqual(['asked', 'outcome'])
    expect(unserved[1]?.data).toEqual({
      outcome: 'unserved',
      detail: expect.stringContaining('palimpsest work') as string,
    })
    worker()
    const served = await all(posted(turns, body))
    expect(named(served, 'MessageAppended')).toHaveLength(1)
    expect(served.at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test('is given by a worker that tells nothing: events come as they are recorded, and the stream says so at first', async () => {
    const { turns, worker } = await scene()
    worker(false)
    const messages = await all(posted(turns, { messages: [hello] }))
    expect(messages[0]?.data).toMatchObject({ workers: 1, streams: 'events' })
    expect(named(messages, 'claimed')[0]?.data).toMatchObject({ attempt: 1, streams: 'events' })
    expect(written(messages)).toBe('')
    expect(messages.at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test('tells of a failed call what the API said, and nothing of what failed inside', async () => {
    let calls = 0
    const { turns, worker } = await scene((body) =>
      calls++ === 0 ? { status: 529, type: 'overloaded_error', message: 'Overloaded' } : yes(body),
    )
    worker(true, { maxRetries: 1 })
    const messages = await all(posted(turns, { messages: [hello] }))
    const [retrying] = named(messages, 'retrying')
    expect(retrying?.data).toMatchObject({ error: { _tag: 'ModelFailed', status: 529 }, try: 2 })
    for (const field of ['cause', 'partial', 'failed'])
      expect(retrying?.data['error']).not.toHaveProperty(field)
    expect(messages.at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test('is told on although an error contains itself', async () => {
    const { turns, relay, worker } = await scene()
    const cause: { self?: object } = {}
    cause.self = cause
    const error = { _tag: 'ModelFailed', message: 'it broke off', cause } as const
    const stream = posted(turns, { messages: [hello] })
    await stream.next()
    relay.hear('w', [{ conversation: 'a', event: { type: 'retrying', error, wait: 0, try: 2 } }])
    const { value: next } = (await stream.next()) as { value: Message }
    expect(next.data['error']).toEqual({ _tag: 'ModelFailed', message: 'it broke off' })
    worker()
    expect((await all(stream)).at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test('waits for a worker where there is none, and says so', async () => {
    const { turns, worker } = await scene()
    const stream = posted(turns, { messages: [hello] })
    const { value: first } = (await stream.next()) as { value: Message }
    expect(first.data).toMatchObject({
      workers: 0,
      streams: 'events',
      detail: expect.stringContaining('no worker is running') as string,
    })
    worker()
    expect((await all(stream)).at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test('does what was asked before, without a message', async () => {
    const { turns, store, worker } = await scene()
    worker()
    await store.conversation('a').append(hello)
    const messages = await all(posted(turns, { tenant: 'acme', priority: 2 }))
    expect(messages[0]?.data).toMatchObject({ position: 0 })
    expect(messages.at(-1)?.data).toMatchObject({ outcome: 'done' })
    const nothing = await all(posted(turns, {}))
    expect(nothing.at(-1)?.data).toEqual({
      outcome: 'done',
      detail: expect.stringContaining('there was nothing to answer') as string,
    })
    expect(idsOf(nothing)).toEqual([])
  })

  test('that says nothing new is refused if more was said since, unless it was asked for before', async () => {
    const { turns, store, worker } = await scene()
    worker()
    await store.conversation('a').append(hello)
    const last = await store.conversation('a').position()
    for (const [body, headers] of [
      [{ after: last + 1 }, {}],
      [{ after: last - 1 }, {}],
      [{}, { 'if-match': '"r7"' }],
    ] as const)
      await expect(all(posted(turns, body, { headers }))).rejects.toThrow('412')
    const body = { after: last, commandId: 'c1' }
    expect((await all(posted(turns, body))).at(-1)?.data).toMatchObject({ outcome: 'done' })
    expect((await all(posted(turns, body))).at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test('ends where a call waits for an approval, and continues with the next', async () => {
    const { turns, store, worker } = await scene((body) => (hasResult(body) ? yes(body) : calling('mail')))
    worker(true, { tools: [mail] })
    const messages = await all(posted(turns, { messages: [hello] }))
    expect(messages.at(-1)?.data).toMatchObject({
      outcome: 'waiting',
      calls: [{ call: 'toolu_1', tool: 'mail', why: 'approval' }],
    })
    await store.conversation('a').approve('toolu_1', { by: 'ann' })
    const rest = await all(posted(turns, {}))
    expect(rest.at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test.each(['handed back', 'approval'])(
    'ends where a call is %s, and gives the model the result that comes beside words',
    async (why) => {
      const bodies: ApiRequest[] = []
      const { turns, worker } = await scene((body) => {
        bodies.push(body)
        return hasResult(body) ? yes(body) : calling('mail')
      })
      worker(true, {
        tools: [why === 'approval' ? mail : { name: 'mail', input_schema: { type: 'object' } }],
      })
      const messages = await all(posted(turns, { messages: [hello] }))
      expect(messages.at(-1)?.data).toMatchObject({ outcome: 'waiting', calls: [{ call: 'toolu_1' }] })
      const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'sent by hand' }
      const said = { role: 'user', content: [result, text('I did it myself.')] }
      const rest = await all(posted(turns, { messages: [said] }))
      expect(rest.at(-1)?.data).toMatchObject({ outcome: 'done' })
      expect(bodies.at(-1)?.messages.at(-1)?.content).toMatchObject([result, text('I did it myself.')])
      expect(bodies).toHaveLength(2)
    },
  )

  test('ends with the error where its step is parked', async () => {
    const refusal = { status: 400, type: 'invalid_request_error', message: 'out of cheese' }
    const { turns, worker } = await scene(() => refusal)
    worker()
    const messages = await all(posted(turns, { messages: [hello] }))
    expect(messages.at(-1)?.data).toMatchObject({
      outcome: 'parked',
      error: expect.stringContaining('out of cheese') as string,
    })
  })

  test('tells of an attempt that failed, and of the next', async () => {
    let calls = 0
    const failure = { status: 500, type: 'api_error', message: 'no' }
    const { turns, worker } = await scene((body) => (calls++ === 0 ? failure : yes(body)))
    worker()
    const messages = await all(posted(turns, { messages: [hello] }))
    expect(named(messages, 'claimed').map(({ data }) => data['attempt'])).toEqual([1, 2])
    expect(named(messages, 'released')[0]?.data).toMatchObject({ reason: 'failed' })
    expect(messages.at(-1)?.data).toMatchObject({ outcome: 'done' })
  })

  test('ends when somebody cancels it', async () => {
    const gate = Promise.withResolvers<void>()
    const { turns, store, worker } = await scene(async (body) => {
      await gate.promise
      return yes(body)
    })
    atEnd(gate.resolve)
    worker()
    const stream = posted(turns, { messages: [hello] })
    for await (const { event } of { [Symbol.asyncIterator]: () => ({ next: () => stream.next() }) })
      if (event === 'claimed') break
    await store.conversation('a').cancel({ by: 'ann', reason: 'wrong file' })
    expect((await all(stream)).at(-1)?.data).toEqual({
      outcome: 'cancelled',
      by: 'ann',
      reason: 'wrong file',
    })
  })

  test('ends when somebody rewinds to before it', async () => {
    const { turns, store } = await scene()
    const chat = store.conversation('a')
    await chat.append({ role: 'user', content: 'First.' })
    const stream = posted(turns, { messages: [hello] })
    await stream.next()
    await chat.rewind({ to: 0 })
    expect((await all(stream)).at(-1)?.data).toEqual({ outcome: 'rewound', position: 2, to: 0 })
  })

  test('is not cancelled when who asked goes away', async () => {
    const gate = Promise.withResolvers<void>()
    const { turns, store, worker } = await scene(async (body) => {
      await gate.promise
      return yes(body)
    })
    worker()
    for await (const { event } of posted(turns, { messages: [hello] })) if (event === 'claimed') break
    gate.resolve()
    await expect.poll(async () => (await store.conversation('a').effective()).length).toBe(2)
  })

  test('is asked for once under one command id, and continues after the event that was seen last', async () => {
    const { turns, store, worker } = await scene((body) => (hasResult(body) ? yes(body) : calling('look')))
    worker(true, { tools: [look] })
    const body = { messages: [hello], commandId: 'c1' }
    const whole = await all(posted(turns, body))
    const ids = idsOf(whole)
    expect(ids.length).toBeGreaterThanOrEqual(3)
    expect(idsOf(await all(posted(turns, body)))).toEqual(ids)
    for (const id of ids) {
      const rest = await all(posted(turns, body, { headers: { 'last-event-id': String(id) } }))
      expect(idsOf(rest)).toEqual(ids.filter((other) => other > id))
      expect(rest.at(-1)).toEqual(whole.at(-1))
    }
    expect((await store.conversation('a').position()) + 1).toBe(ids.length + 1)
    await expect(all(posted(turns, { ...body, priority: 3 }))).rejects.toThrow('422')
    await all(posted(turns, { commandId: 'c2' }))
    await all(posted(turns, { commandId: 'c2' }))
    const requested = []
    for await (const { type, metadata } of store.conversation('a').turnFacts())
      if (type === 'TurnRequested') requested.push(metadata.commandId)
    expect(requested).toEqual(['c2'])
  })

  test('that is said while the model answers something else ends with its own reply', async () => {
    const gate = Promise.withResolvers<void>()
    let calls = 0
    const { turns, worker } = await scene(async (body) => {
      if (calls++ === 0) await gate.promise
      return { content: [text(`Answer to ${body.messages.length}.`)] }
    })
    worker()
    const first = posted(turns, { messages: [hello] })
    while ((await first.next()).value?.event !== 'claimed');
    await until(() => calls === 1)
    const second = posted(turns, { messages: [{ role: 'user', content: 'And this?' }] })
    await second.next()
    gate.resolve()
    const [one, other] = await Promise.all([all(first), all(second)])
    const replies = (messages: readonly Message[]) =>
      named(messages, 'MessageAppended').filter(({ data }) => JSON.stringify(data).includes('Answer to'))
    expect(one.at(-1)?.data).toMatchObject({ outcome: 'done' })
    expect(other.at(-1)?.data).toMatchObject({ outcome: 'done', position: Number(replies(other).at(-1)?.id) })
    expect(other.at(-1)?.data['position']).toBeGreaterThan(Number(one.at(-1)?.data['position']))
  })

  test('records where the files are with its message, and not without one', async () => {
    const { store, turns } = await scene(yes, 0)
    const workspace = { kind: 'git', commit: '3f2a1c4', dirty: true }
    const told = await all(posted(turns, { messages: [hello], workspace }))
    expect(told.at(-1)?.event).toBe('outcome')
    const [said] = await store.conversation('a').timeline()
    expect(said?.event.metadata.workspace).toEqual(workspace)
    await expect(all(posted(turns, { workspace }))).rejects.toThrow('recorded with messages')
  })

  test('is refused for what is wrong with it', async () => {
    const { turns, store } = await scene()
    await expect(all(posted(turns, {}))).rejects.toThrow('404')
    await store.conversation('a').append(hello)
    await expect(all(posted(turns, { messages: [hello], after: 7 }))).rejects.toThrow('412')
    await expect(all(posted(turns, { messages: [] }))).rejects.toThrow('400')
    await expect(all(posted(turns, { priority: 10 }))).rejects.toThrow('400')
    await expect(all(posted(turns, {}, { headers: { 'last-event-id': 'x' } }))).rejects.toThrow('400')
  })
})
