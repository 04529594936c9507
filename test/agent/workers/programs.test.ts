import Anthropic from '@anthropic-ai/sdk'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  type Conversation,
  openStore,
  type Store,
  type TurnEvent,
  type TurnOptions,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { failure } from '../../support/either.ts'
import { text } from '../../support/log.ts'

type Answer = (body: ApiRequest, call: number) => ApiReply | ApiFailure | Promise<ApiReply | ApiFailure>

const ask = { role: 'user' as const, content: 'Is it there?' }
const yes: ApiReply = { content: [text('Yes.')] }
const pay: ApiReply = {
  content: [{ type: 'tool_use', id: 't1', name: 'pay', input: {} }],
  stop_reason: 'tool_use',
}
const tools = [{ name: 'pay', input_schema: { type: 'object' } }]

const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await isSo())) await sleep(5)
}

/** A promise, and what resolves it. */
const gate = () => Promise.withResolvers<void>()

/** Resolves when the test has ended. */
const untilEnd = (): Promise<void> => {
  const { promise, resolve } = gate()
  atEnd(resolve)
  return promise
}

interface Scene {
  readonly store: Store
  /** The same store as another program has it. */
  readonly other: Store
  readonly options: TurnOptions
  readonly calls: () => number
  readonly worker: (turn?: Partial<TurnOptions>) => void
  /** The types of the facts beside a conversation. */
  readonly facts: (id: string) => Promise<readonly string[]>
}

const scene = async (answer: Answer = () => yes): Promise<Scene> => {
  let calls = 0
  const api = await messagesApi({ reply: (body) => answer(body, ++calls) })
  const events = memoryStore()
  const [store, other] = [await openStore(events), await openStore(events)]
  atEnd(api.close, store.close)
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const options: TurnOptions = { client, model: 'claude-opus-5-5', maxRetries: 0 }
  return {
    store,
    other,
    options,
    calls: () => calls,
    worker: (turn = {}) => {
      const ends = new AbortController()
      const done = store
        .worker({ turn: () => ({ ...options, ...turn }), grace: 1_000 })
        .run({ signal: ends.signal })
      atEnd(async () => {
        ends.abort()
        await done
      })
    },
    facts: async (id) => {
      const read = await events.read({ stream: `turns-${id}`, from: 0, direction: 'forwards', limit: 100 })()
      return '_tag' in read && read._tag === 'Right' ? read.right.map(({ type }) => type) : []
    },
  }
}

const roles = async (chat: Conversation): Promise<readonly string[]> =>
  (await chat.effective()).map((item) => (item.kind === 'message' ? item.role : item.kind))

/** A model that never answers: whoever calls it says nothing more. */
const dead: TurnOptions['client'] = {
  countTokens: () => Promise.resolve({ _tag: 'Right', right: 10 }),
  call: () => new Promise(() => {}),
}

describe('a program that gives a turn', () => {
  test('lets go of what it has claimed again after its last reply', async () => {
    // After a compaction the turn looks again, and finds a call that nobody is to carry out.
    const refused: ApiReply = {
      content: [{ type: 'compaction', content: 'What came before.' }, ...pay.content],
      stop_reason: 'refusal',
    }
    const { store, options, facts } = await scene(() => refused)
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    await chat.turn({ ...options, tools, run: { pay: () => 'paid' } })
    expect(await facts('c')).toEqual(['TurnsBegun', 'TurnClaimed', 'TurnClaimed', 'TurnReleased'])
  })

  test('to a conversation that workers are asked about keeps them from it', async () => {
    const { store, options, calls, worker } = await scene(async () => {
      await sleep(60)
      return yes
    })
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    const turned = chat.turn(options)
    await until(() => calls() === 1)
    worker()
    expect(await turned).toMatchObject({ content: [text('Yes.')], calls: 1 })
    for await (const step of store.steps()) expect(step).toBeUndefined()
    expect(calls()).toBe(1)
    expect(await roles(chat)).toEqual(['user', 'assistant'])
  })

  test('while a worker does waits for it, tells who has it, and returns what came of it', async () => {
    const held = gate()
    const { store, options, calls, worker } = await scene(async () => {
      await held.promise
      return yes
    })
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    worker()
    await until(() => calls() === 1)
    const events: TurnEvent[] = []
    for await (const event of chat.stream(options)) {
      events.push(event)
      held.resolve()
    }
    expect(events).toMatchObject([
      { type: 'held', by: expect.stringMatching(/^worker-/) as string },
      { type: 'done', turned: { content: [text('Yes.')], calls: 0, ended: 'stop' } },
    ])
    expect(calls()).toBe(1)
  })

  test('while another does waits as well, and says nothing of the calls that run', async () => {
    const paying = gate()
    const paid = gate()
    const { store, other, options, calls } = await scene((_, call) => (call === 1 ? pay : yes))
    await store.conversation('c').append(ask)
    const run = {
      pay: {
        run: async () => {
          paying.resolve()
          await paid.promise
          return 'paid'
        },
      },
    }
    const one = store.conversation('c').turn({ ...options, tools, run })
    await paying.promise
    const events: TurnEvent[] = []
    const two = (async () => {
      for await (const event of other.conversation('c').stream({ ...options, tools, run })) events.push(event)
      const last = events.at(-1)
      return last?.type === 'done' ? last.turned : undefined
    })()
    await until(() => events.length > 0)
    paid.resolve()
    expect(await one).toMatchObject({ content: [text('Yes.')], calls: 2 })
    expect(await two).toMatchObject({ content: [text('Yes.')], calls: 0 })
    expect(calls()).toBe(2)
    expect(JSON.stringify(await store.conversation('c').effective())).not.toContain('interrupted')
  })

  test('can be told to fail instead', async () => {
    const held = gate()
    const { store, other, options, facts } = await scene(async () => {
      await held.promise
      return yes
    })
    await store.conversation('c').append(ask)
    const one = store.conversation('c').turn(options)
    await until(async () => (await facts('c')).includes('TurnClaimed'))
    const two = other.conversation('c').turn({ ...options, whileHeld: 'fail' })
    await expect(two).rejects.toMatchObject({
      _tag: 'TurnHeld',
      holder: expect.stringMatching(/^program-/) as string,
    })
    held.resolve()
    await one
  })

  test('can be told to take the conversation over: the other turn is aborted, and returns what came of it', async () => {
    const over = untilEnd()
    const { store, other, options, calls, facts } = await scene(async (_, call) => {
      if (call === 1) await over
      return yes
    })
    await store.conversation('c').append(ask)
    const one = store.conversation('c').turn(options)
    await until(async () => (await facts('c')).includes('TurnClaimed') && calls() === 1)
    const two = await other.conversation('c').turn({ ...options, whileHeld: 'take' })
    expect(two).toMatchObject({ calls: 1 })
    expect(await one).toMatchObject({ calls: 1, position: two.position })
    expect(calls()).toBe(2)
  })

  test('whose process says nothing more is taken for dead, and its turn is taken over', async () => {
    const { store, other, options, facts } = await scene()
    const chat = store.conversation('c')
    await chat.append(ask)
    void chat.turn({ ...options, client: dead, ttl: 3_600_000 }).catch(() => {})
    await until(async () => (await facts('c')).includes('TurnClaimed'))
    const turned = await other.conversation('c').turn({ ...options, ttl: 50 })
    expect(turned).toMatchObject({ content: [text('Yes.')] })
  })

  test('and has waited for one whose process says nothing more calls the model alone', async () => {
    const { store, other, options, facts, calls } = await scene(async () => {
      await sleep(60)
      return yes
    })
    const chat = store.conversation('c')
    await chat.append(ask)
    void chat.turn({ ...options, client: dead, ttl: 3_600_000 }).catch(() => {})
    await until(async () => (await facts('c')).includes('TurnClaimed'))
    const turn = () => other.conversation('c').turn({ ...options, ttl: 8_000 })
    const [one, two] = await Promise.all([turn(), turn()])
    expect(one.position).toBe(two.position)
    expect(calls()).toBe(1)
  })

  test('lets go when it is aborted, so that a worker continues what it was asked', async () => {
    const held = gate()
    const { store, options, calls, worker } = await scene(async () => {
      await held.promise
      return yes
    })
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    worker()
    const stop = new AbortController()
    const taken = failure(chat.turn({ ...options, whileHeld: 'take', signal: stop.signal }))
    await until(() => calls() > 0)
    stop.abort()
    expect(await taken).toMatchObject({ _tag: 'ModelAborted' })
    held.resolve()
    await until(async () => (await roles(chat)).length === 2)
  })

  test('that is cancelled ends what was asked of workers, until somebody asks again', async () => {
    const over = untilEnd()
    const { store, options, calls, worker, facts } = await scene(async (_, call) => {
      if (call === 1) await over
      return yes
    })
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    const cancelled = failure(chat.turn(options))
    await until(() => calls() === 1)
    worker()
    await chat.cancel({ by: 'ann' })
    expect(await cancelled).toMatchObject({ _tag: 'TurnCancelled' })
    await until(async () => (await facts('c')).includes('TurnReleased'))
    for await (const step of store.steps()) expect(step).toBeUndefined()
    expect(calls()).toBe(1)
    await chat.request()
    await until(async () => (await roles(chat)).length === 2)
  })

  test('records no claim where it is quick and nobody else is concerned', async () => {
    const { store, options, facts } = await scene()
    const chat = store.conversation('c')
    await chat.append(ask)
    const quick: TurnOptions['client'] = {
      countTokens: () => Promise.resolve({ _tag: 'Right', right: 10 }),
      call: () =>
        Promise.resolve({
          _tag: 'Right',
          right: { content: [text('Yes.')], origin: { stopReason: 'end_turn' } },
        }),
    }
    await chat.turn({ ...options, client: quick })
    expect(await facts('c')).toEqual([])
  })
})

describe('a turn whose conversation another program takes over', () => {
  type Client = Extract<TurnOptions['client'], { readonly call: unknown }>
  type Answered = ReturnType<Client['call']>
  const reply = (content: ApiReply['content'], stopReason: string): Answered =>
    Promise.resolve({
      _tag: 'Right',
      right: { content, origin: { stopReason, usage: { input_tokens: 7, output_tokens: 5 } } },
    } as Awaited<Answered>)
  const answered = (): Answered => reply(yes.content, 'end_turn')
  const countTokens: Client['countTokens'] = () => Promise.resolve({ _tag: 'Right', right: 10 })
  /** A reply that begins and does not end until its call is aborted. */
  const begun: Client['call'] = (_, { onEvent, signal } = {}) => {
    const { promise, resolve } = Promise.withResolvers<Awaited<Answered>>()
    const delta = { type: 'text_delta', text: 'No' }
    onEvent?.({ type: 'content_block_delta', index: 0, delta })
    const usage = { input_tokens: 7, output_tokens: 3 }
    signal?.addEventListener('abort', () =>
      resolve({ _tag: 'Left', left: { _tag: 'ModelAborted', message: 'aborted', usage } }),
    )
    return promise
  }
  /** A model that answers its calls one by one. */
  const playing = (...answers: readonly Client['call'][]): Client => {
    let call = 0
    return { countTokens, call: (...asked) => (answers[call++] ?? answered)(...asked) }
  }
  const failed = (): Answered =>
    Promise.resolve({ _tag: 'Left', left: { _tag: 'ModelFailed', message: 'no' } })

  /** Gives a turn that calls `first` and loses the conversation in its last call to a turn that calls `second`. */
  const taken = async (
    first: Client,
    second: (chat: Conversation) => Client,
    more: Partial<TurnOptions> = {},
  ) => {
    const { store, other, options, facts } = await scene()
    const chat = store.conversation('c')
    await chat.append(ask)
    const events: TurnEvent[] = []
    let taking: Promise<unknown> | undefined
    const take = async (): Promise<void> => {
      await until(async () => (await facts('c')).includes('TurnClaimed'))
      const turned = other.conversation('c').turn({ ...options, client: second(chat), whileHeld: 'take' })
      await turned.catch(() => {})
    }
    const all = async () => {
      for await (const event of chat.stream({ ...options, client: first, ...more })) {
        events.push(event)
        if (event.type === 'text') taking ??= take()
        if (event.type === 'done') return event.turned
      }
      throw new Error('a stream ended without `done`')
    }
    const turned = await all().catch((error: unknown) => ({ error }))
    await taking
    return { events, turned }
  }

  test('and who lets go of it again calls the model again, drops what had come, and counts both calls', async () => {
    const { events, turned } = await taken(playing(begun), () => playing(failed))
    expect(events.filter(({ type }) => type !== 'held')).toMatchObject([
      { type: 'text', text: 'No' },
      { type: 'retrying', error: { _tag: 'ModelAborted' }, wait: 0, try: 1 },
      { type: 'reply', content: yes.content },
      { type: 'done' },
    ])
    const usage = { calls: 2, input: 14, output: 8 }
    expect(turned).toMatchObject({ content: yes.content, calls: 2, retried: 1, usage })
  })

  test('calls the model no more often than it may, and tells of the calls that were aborted', async () => {
    const { turned } = await taken(playing(begun), () => playing(failed), { maxCalls: 1 })
    const aborted = { error: 'ModelAborted', usage: { input_tokens: 7, output_tokens: 3 } }
    expect(turned).toMatchObject({ error: { _tag: 'TooManyCalls', failed: [aborted] } })
  })

  test('ends with nothing to answer if the message is then taken back, and tells of them as well', async () => {
    const { turned } = await taken(playing(begun), (chat) =>
      playing(async () => {
        await chat.rewind({ turns: 1 })
        return failed()
      }),
    )
    expect(turned).toMatchObject({ error: { _tag: 'NothingToAnswer', failed: [{ error: 'ModelAborted' }] } })
  })

  test('and who finishes it returns their reply, with what it had done itself', async () => {
    const paying = () => reply(pay.content, 'tool_use')
    const run = { pay: { run: () => 'paid' } }
    const { turned } = await taken(playing(paying, begun), () => playing(answered), { tools, run })
    const usage = { calls: 3, input: 21, output: 13 }
    expect(turned).toMatchObject({
      content: yes.content,
      calls: 2,
      tools: [{ call: 't1', tool: 'pay', isError: false }],
      usage,
    })
  })
})
