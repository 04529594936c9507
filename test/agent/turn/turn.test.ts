import { currentRenderer } from '../../../src/agent/receipts/request.ts'
import { type AnyBlock } from '../../../src/events/blocks.ts'
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { openStore, type Conversation } from '../../../src/index.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import type { Block } from '../../../src/events/blocks.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, thinking, toolUse } from '../../support/log.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import {
  messagesApi,
  type MessagesApi,
  type MessagesApiOptions,
} from '../../../src/testing/messages-api/server.ts'

interface Scene {
  readonly api: MessagesApi
  readonly chat: Conversation
  /** A turn with a model that says these replies, one a call, the last one again and again. */
  readonly turn: (options?: Partial<TurnOptions>) => ReturnType<Conversation['turn']>
  /** The effective history: roles and what they say. */
  readonly shown: () => Promise<readonly string[]>
  readonly refused: () => readonly unknown[]
}

type Said = ApiReply | ApiFailure | (() => Promise<ApiReply | ApiFailure> | ApiReply | ApiFailure)

const scene = async (said: readonly Said[], options: MessagesApiOptions = {}): Promise<Scene> => {
  const api = await messagesApi({
    reply: (_, n) => {
      const reply = said[Math.min(n, said.length - 1)] ?? { content: [text('Yes.')] }
      return typeof reply === 'function' ? reply() : reply
    },
    ...options,
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  return {
    api,
    chat,
    turn: (more = {}) => chat.turn({ client, model: 'claude-opus-5-5', maxRetries: 0, ...more }),
    shown: async () =>
      (await chat.effective()).map((item) =>
        item.kind === 'message' ? `${item.role}: ${item.content.map(wordOf).join(' ')}` : item.kind,
      ),
    refused: () => api.requests.filter(({ status }) => status === 400),
  }
}

const wordOf = (block: Block): string => {
  const { type, name, content, is_error: isError, text: said } = block
  if (type === 'text') return said
  if (type === 'tool_use') return `${name}()`
  return type === 'tool_result'
    ? `${isError === true ? 'error ' : ''}<${typeof content === 'string' ? content : JSON.stringify(content)}>`
    : type
}

const says = (...content: readonly AnyBlock[]): ApiReply => ({ content })
const calls = (...names: readonly string[]): ApiReply =>
  says(
    text('Let me look.'),
    ...names.map((name, index) => ({ ...toolUse(`t${index}`), id: undefined, name })),
  )
const yes = says(text('Yes.'))
const tools = ['read', 'write'].map((name) => ({ name, input_schema: { type: 'object' } }))
const task = { role: 'user' as const, content: 'Is it there?' }

describe('a turn', () => {
  it('asks the model and records its reply, with what the API says of it and what it was sent', async () => {
    const { chat, turn, shown, api } = await scene([yes])
    await chat.append(task)
    const turned = await turn()
    expect(turned).toMatchObject({
      conversation: 'c',
      position: 2,
      content: [text('Yes.')],
      stopReason: 'end_turn',
      calls: 1,
    })
    expect(await shown()).toEqual(['user: Is it there?', 'assistant: Yes.'])
    const [, reply] = await chat.effective()
    expect(reply).toMatchObject({
      origin: {
        model: 'claude-opus-5-5',
        stopReason: 'end_turn',
        requestId: expect.stringMatching(/^req_/),
        usage: { output_tokens: expect.any(Number) },
        context: {
          position: 1,
          digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          options: { renderer: currentRenderer, cache: '5m' },
        },
      },
    })
    expect(api.requests[0]?.body).toMatchObject({ model: 'claude-opus-5-5', max_tokens: 8_192, stream: true })
  })

  it('records what the request holds besides messages, once, before the model is asked', async () => {
    const { chat, turn, api } = await scene([yes])
    const options = { system: 'Be brief.', tools, parameters: { max_tokens: 100, temperature: 0 } }
    await chat.append(task)
    await turn(options)
    await chat.append(task)
    await turn(options)
    await chat.append(task)
    await turn()
    const events = (await chat.timeline()).map(({ event }) => event.type)
    expect(events.filter((type) => type === 'Configured')).toHaveLength(2)
    expect(
      api.requests.map(({ body }) => [body?.max_tokens, body?.['temperature'], body?.tools?.length]),
    ).toEqual([
      [100, 0, 2],
      [100, 0, 2],
      [8_192, undefined, 2],
    ])
  })

  it('runs the tools at the same time, and continues until the model stops', async () => {
    const { chat, turn, shown } = await scene([calls('read', 'write'), calls('read'), yes])
    await chat.append(task)
    let running = 0
    let most = 0
    const work = async (): Promise<string> => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 5))
      running--
      return 'done'
    }
    const turned = await turn({ tools, run: { read: work, write: { run: work } } })
    expect(turned.calls).toBe(3)
    expect(most).toBe(2)
    expect(await shown()).toEqual([
      'user: Is it there?',
      'assistant: Let me look. read() write()',
      'user: <done> <done>',
      'assistant: Let me look. read()',
      'user: <done>',
      'assistant: Yes.',
    ])
  })

  it.each<readonly [string, Partial<TurnOptions>, string]>([
    [
      'throws',
      { run: { read: () => Promise.reject(new Error('no such file')) } },
      'error <Error: no such file>',
    ],
    ['is not there', {}, 'error <There is no tool read.>'],
    [
      'is a name that every object has',
      { run: Object.create({ read: () => 'x' }) as never },
      'error <There is no tool read.>',
    ],
    [
      'takes too long',
      { run: { read: () => new Promise(() => {}) }, toolTimeout: 20 },
      'error <It took longer than 20 ms and was given up. It was cut off; whether it took effect is not known.>',
    ],
    ['says nothing', { run: { read: () => undefined } }, '<undefined>'],
    [
      'throws what is no error',
      { run: { read: () => Promise.reject(Object.create(null) as Error) } },
      'error <[Object: null prototype] {}>',
    ],
    ['gives blocks', { run: { read: () => [text('a')] } }, '<[{"type":"text","text":"a"}]>'],
    ['gives a number', { run: { read: () => 7 } }, '<7>'],
    [
      'gives what throws when it is read',
      {
        run: {
          read: () =>
            new Proxy(
              {},
              {
                getPrototypeOf: () => {
                  throw new Error('no')
                },
              },
            ),
        },
      },
      'error <The call was carried out, but what it returned cannot be read: Error: no>',
    ],
  ])('tells the model of a tool that %s', async (_, options, result) => {
    const { chat, turn, shown, refused } = await scene([calls('read'), yes])
    await chat.append(task)
    // Calls of a tool that is defined and has no function are handed back.
    await turn({
      ...('run' in options && Object.keys(options.run ?? {}).length > 0 && { tools }),
      ...options,
    })
    expect((await shown())[2]).toBe(`user: ${result}`)
    expect(refused()).toEqual([])
  })

  it('passes the input, and a signal that aborts when the time is up', async () => {
    const { chat, turn } = await scene([says({ ...toolUse('t', { path: 'a' }), name: 'read' }), yes])
    await chat.append(task)
    const seen: unknown[] = []
    const read = (input: { readonly path: string }, { id, signal }: { id: string; signal: AbortSignal }) =>
      new Promise<string>((resolve) => {
        seen.push(input.path, id)
        signal.addEventListener('abort', () => {
          seen.push(signal.reason)
          resolve('')
        })
      })
    await turn({ tools, run: { read: { run: read, timeout: 10 } } })
    expect(seen).toEqual(['a', 't', 'It took longer than 10 ms and was given up.'])
  })

  it('is not changed by a tool that changes its input', async () => {
    const { chat, turn, api } = await scene([says({ ...toolUse('t', { path: 'a' }), name: 'read' }), yes])
    await chat.append(task)
    const read = (input: { path: string }): string => (input.path = `/abs/${input.path}`)
    await turn({ tools, run: { read } })
    expect(api.requests[1]?.body?.messages[1]?.content).toMatchObject([{ input: { path: 'a' } }])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('is refused if the model has the last word, or nothing was said', async () => {
    const { chat, turn } = await scene([yes])
    const advice = 'append a user message first'
    await expect(turn()).rejects.toMatchObject({
      _tag: 'ConversationNotFound',
      message: `there is no conversation ${chat.id} in this store: ${advice}`,
    })
    await chat.configure({ system: 'Be kind.' })
    await expect(turn()).rejects.toMatchObject({
      _tag: 'NothingToAnswer',
      message: `${chat.id} has no messages to answer: ${advice}`,
    })
    await chat.append(task)
    await turn()
    await expect(turn()).rejects.toMatchObject({
      _tag: 'NothingToAnswer',
      message: `it is not the model's turn in ${chat.id}: ${advice}`,
    })
    const before = await chat.position()
    await expect(turn({ system: 'Be brief.' })).rejects.toMatchObject({ _tag: 'NothingToAnswer' })
    expect(await chat.position()).toBe(before)
  })

  it('sends no thinking that was said while system messages were shown otherwise', async () => {
    const { chat, turn, refused } = await scene([says(thinking('', 'Hm.'), text('Yes.'))])
    const parameters = { thinking: { type: 'adaptive' } }
    await chat.append([task, { role: 'system', content: 'Be brief.' }])
    await turn({ parameters, systemMessages: true })
    await chat.append(task)
    await turn({ parameters })
    expect(refused()).toEqual([])
  })

  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ['model', { model: '' }],
    ['client', { client: {} }],
    ['context.window', { context: { window: 0 } }],
    ['run.read', { run: { read: 7 } }],
    ['maxCalls', { maxCalls: 0 }],
    ['modle', { modle: 'x' }],
    ['parameters.system', { parameters: { system: 'x' } }],
    ['parameters.max_tokens', { parameters: { max_tokens: 1.5 } }],
    ['parameters.temperature', { parameters: { temperature: Number.NaN } }],
    ['toolTimeout', { toolTimeout: 2 ** 31 }],
    ['stallTimeout', { stallTimeout: 0 }],
    ['maxRetries', { maxRetries: -1 }],
    ['run.read.timout', { run: { read: { run: () => '', timout: 3 } } }],
    ['cache', { cache: '2h' }],
    ['summarizer.modl', { summarizer: { modl: 'x' } }],
    ['summarizer.maxTokens', { summarizer: { maxTokens: 0 } }],
  ])('names the invalid option: %s', async (path, options) => {
    const { chat, turn, api } = await scene([yes])
    await chat.append(task)
    await expect(turn(options)).rejects.toMatchObject({ _tag: 'InvalidInput', path })
    expect(api.requests).toEqual([])
    expect(await chat.position()).toBe(0)
  })
})

describe('a call that fails', () => {
  it.each<readonly [string, Said, object]>([
    [
      'an overloaded API',
      { status: 529, type: 'overloaded_error', message: 'Overloaded' },
      { status: 529, type: 'overloaded_error' },
    ],
    [
      'a request that is refused',
      { status: 400, type: 'invalid_request_error', message: 'No.' },
      { status: 400 },
    ],
    ['a connection that breaks', { ...yes, fault: { kind: 'drop', after: 3 } }, {}],
    ['a stream that ends half way as if it were complete', { ...yes, fault: { kind: 'end', after: 3 } }, {}],
    ['an error in the stream', { ...yes, fault: { kind: 'error', after: 3 } }, {}],
  ])('leaves the conversation as it was: %s', async (_, said, error) => {
    const { chat, turn } = await scene([said])
    await chat.configure({ model: 'claude-opus-5-5', parameters: { max_tokens: 8_192 } })
    await chat.append(task)
    await expect(turn()).rejects.toMatchObject({ _tag: 'ModelFailed', ...error })
    expect(await chat.position()).toBe(1)
  })

  it.each<readonly [string, ApiFailure, RegExp]>([
    [
      'a wrong key',
      { status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
      /401 authentication_error: invalid x-api-key\): .*ANTHROPIC_API_KEY/,
    ],
    [
      'a model that is not there',
      { status: 404, type: 'not_found_error', message: 'model: x' },
      /check the model name/,
    ],
    ['a limit', { status: 429, type: 'rate_limit_error', message: 'slow down' }, /try again later/],
  ])('says what to do about %s', async (_, failure, message) => {
    const { chat, turn } = await scene([failure])
    await chat.append(task)
    await expect(turn()).rejects.toThrow(message)
  })

  it.each<readonly [string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['gives nothing', () => undefined],
    ['gives no content', () => ({ _tag: 'Right', right: { origin: {} } })],
    ['gives no origin', () => ({ content: [text('x')] })],
    ['gives no error', () => ({ _tag: 'Left', left: {} })],
  ])('is typed where somebody’s own model %s', async (_, call) => {
    const { chat, turn } = await scene([])
    await chat.append(task)
    await turn({ client: { call, countTokens: call } as never }).catch((error: unknown) => {
      expect(error).toMatchObject({ _tag: 'ModelFailed' })
    })
    expect(await chat.effective()).toHaveLength(1)
  })

  it('is one where the listener throws, and says so', async () => {
    const { chat, turn } = await scene([yes])
    await chat.append(task)
    const onEvent = (): void => {
      throw new Error('ui bug')
    }
    await expect(turn({ onEvent })).rejects.toThrow(/onEvent threw: Error: ui bug/)
  })
})

describe('an abort', () => {
  const abortAfter = (count: number) => {
    const controller = new AbortController()
    let seen = 0
    const onEvent = (): void => {
      if (++seen === count) controller.abort('enough')
    }
    return { signal: controller.signal, onEvent }
  }
  const long = says(thinking('', 'Hm.'), text('One two three four five six seven eight nine ten.'))
  const parameters = { thinking: { type: 'adaptive' } }

  it('in the middle of a reply records nothing of it', async () => {
    const { chat, turn, shown } = await scene([{ ...long, delay: 2 }])
    await chat.append(task)
    await expect(turn({ parameters, ...abortAfter(8) })).rejects.toMatchObject({ _tag: 'ModelAborted' })
    expect(await shown()).toEqual(['user: Is it there?'])
  })

  it('keeps the completed blocks and the beginning of a text if asked, and the conversation continues from there', async () => {
    const { chat, turn, shown, refused } = await scene([{ ...long, delay: 2 }, yes])
    await chat.append(task)
    await expect(turn({ parameters, keepPartial: true, ...abortAfter(8) })).rejects.toMatchObject({
      _tag: 'ModelAborted',
      partial: { origin: { stopReason: null } },
    })
    expect((await shown())[1]).toMatch(/^assistant: thinking One two/)
    await chat.append({ role: 'user', content: 'Go on.' })
    expect(await turn({ parameters })).toMatchObject({ stopReason: 'end_turn' })
    expect(refused()).toEqual([])
  })

  it('tells the model that a completed call that was kept was not run, and continues', async () => {
    const { chat, turn, shown, refused } = await scene([{ ...calls('read', 'write'), delay: 3 }, yes])
    await chat.append(task)
    const run = { read: () => 'x', write: () => 'x' }
    await expect(turn({ tools, run, keepPartial: true, ...abortAfter(9) })).rejects.toMatchObject({
      _tag: 'ModelAborted',
      message: 'aborted: the part of the reply received so far is recorded at position 2',
    })
    expect(await shown()).toEqual([
      'user: Is it there?',
      'assistant: Let me look. read()',
      'user: error <This call was not run: the reply was interrupted.>',
    ])
    await turn({ tools, run })
    expect(refused()).toEqual([])
  })

  it('ends a turn whose user-supplied model does not end', async () => {
    const { chat, turn } = await scene([yes])
    await chat.append(task)
    const client = {
      call: () => new Promise<never>(() => {}),
      countTokens: () => new Promise<never>(() => {}),
    }
    await expect(turn({ client, signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      _tag: 'ModelAborted',
    })
  })

  it('keeps no unfinished call', async () => {
    const call = { ...toolUse('t', { path: 'a'.repeat(200) }), name: 'read' }
    const { chat, turn, shown } = await scene([{ ...says(text('I read.'), call), delay: 2 }])
    await chat.append(task)
    await expect(turn({ tools, keepPartial: true, ...abortAfter(8) })).rejects.toMatchObject({
      _tag: 'ModelAborted',
    })
    expect((await shown())[1]).toBe('assistant: I read.')
  })

  it('while tools run records what is done and what was interrupted', async () => {
    const { chat, turn, shown, refused } = await scene([calls('read', 'write'), yes])
    await chat.append(task)
    const controller = new AbortController()
    const run = {
      read: () => 'done',
      write: () => {
        controller.abort()
        return new Promise<string>(() => {})
      },
    }
    await expect(turn({ tools, run, signal: controller.signal })).rejects.toMatchObject({
      _tag: 'ModelAborted',
    })
    expect((await shown())[2]).toMatch(
      /^user: (error )?<.*> error <The call was interrupted by the user\. It was cut off; .*>$/,
    )
    await turn({ tools, run })
    expect(refused()).toEqual([])
  })

  it.each([
    ['unsafe', 'The call was interrupted by the user. It was cut off; whether it took effect is not known.'],
    [
      'idempotent',
      'The call was interrupted by the user. It was cut off; whether it took effect is not known.',
    ],
    ['none', 'The call was interrupted by the user.'],
  ] as const)('while a tool with the effect %s runs says what is known of it', async (effect, told) => {
    const { chat, turn, shown } = await scene([calls('write'), yes])
    await chat.append(task)
    const controller = new AbortController()
    const write = () => {
      controller.abort()
      return new Promise<string>(() => {})
    }
    await expect(
      turn({ tools, run: { write: { run: write, effect } }, signal: controller.signal }),
    ).rejects.toMatchObject({ _tag: 'ModelAborted' })
    expect((await shown())[2]).toBe(`user: error <${told}>`)
  })

  it('before a tool was called says that it was not carried out', async () => {
    const { chat, turn, shown } = await scene([calls('write'), yes])
    await chat.append(task)
    const controller = new AbortController()
    const done: string[] = []
    const write = {
      run: () => done.push('written'),
      approve: () => {
        controller.abort()
        return new Promise<boolean>(() => {})
      },
    }
    await expect(turn({ tools, run: { write }, signal: controller.signal })).rejects.toMatchObject({
      _tag: 'ModelAborted',
    })
    const told = 'The call was interrupted by the user before it began: it was not carried out.'
    expect((await shown())[2]).toBe(`user: error <${told}>`)
    expect(done).toEqual([])
  })
})

describe('a turn that was interrupted between a call and its result', () => {
  it('runs no tool again, unless it may be', async () => {
    const { chat, turn, shown } = await scene([yes])
    await chat.append([
      task,
      { role: 'assistant', content: [toolUse('a'), { ...toolUse('b'), name: 'read' }] },
    ])
    let ran = 0
    const again = { run: () => `${++ran}`, idempotent: true }
    await turn({ run: { run: () => `${++ran}`, read: again } })
    expect(await shown()).toEqual([
      'user: Is it there?',
      'assistant: run() read()',
      'user: error <This call was interrupted: whether it took effect is not known.> <1>',
      'assistant: Yes.',
    ])
  })
})

/** Does it the first time. */
const once = <A>(what: (given: A) => Promise<unknown>): ((given: A) => Promise<void>) => {
  let isDone = false
  return async (given) => {
    if (isDone) return
    isDone = true
    await what(given)
  }
}

describe('what happens in the middle of a turn', () => {
  const during = async (
    what: (chat: Conversation) => Promise<unknown>,
    options: Partial<TurnOptions> = {},
  ) => {
    const said: Said[] = []
    const playing = await scene(said)
    said.push(async () => {
      await what(playing.chat)
      return yes
    })
    await playing.chat.append([task, { role: 'assistant', content: 'No.' }, task])
    return { ...playing, turned: playing.turn(options) }
  }

  it('a rewind makes the late reply stale, and it lands nowhere', async () => {
    const { turned, shown } = await during((conversation) => conversation.rewind({ to: 0 }))
    await expect(turned).rejects.toMatchObject({ _tag: 'StaleContext' })
    expect(await shown()).toEqual(['user: Is it there?'])
  })

  it('is kept on an abandoned branch if asked, never on the new path', async () => {
    const { turned, shown, chat } = await during((conversation) => conversation.rewind({ to: 0 }), {
      keepLate: true,
    })
    await expect(turned).rejects.toMatchObject({ _tag: 'StaleContext' })
    expect(await shown()).toEqual(['user: Is it there?'])
    const abandoned = (await chat.full({ abandoned: true })).filter(({ status }) => status === 'abandoned')
    expect(abandoned.at(-1)).toMatchObject({
      role: 'assistant',
      content: [text('Yes.')],
      origin: { context: {} },
    })
  })

  it('what the user says comes after the reply, and is answered in the same turn', async () => {
    const { turned, shown, chat, refused } = await during(
      once((conversation) => conversation.append({ role: 'user', content: 'Wait.' })),
    )
    expect(await turned).toMatchObject({ calls: 2, position: (await chat.effective()).at(-1)?.position })
    expect((await shown()).slice(2)).toEqual([
      'user: Is it there?',
      'assistant: Yes.',
      'user: Wait.',
      'assistant: Yes.',
    ])
    expect(refused()).toEqual([])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
    expect((await chat.verify()).discrepancy).toBeUndefined()
  })

  it('so it does with a configuration, a condense, and what else was said and shortened', async () => {
    const { turned, shown, api, chat } = await during(
      once(async (conversation) => {
        await conversation.configure({ system: 'Be quick.' })
        await conversation.append({ role: 'user', content: 'Wait.' })
        await conversation.condense({ covers: { first: 1, last: 1 }, summary: 'It was not.' })
        await conversation.append({ role: 'user', content: 'long', shown: { content: 'Short.' } })
      }),
    )
    expect(await turned).toMatchObject({ calls: 2 })
    expect(await shown()).toEqual([
      'user: Is it there?',
      'summary',
      'user: Is it there?',
      'assistant: Yes.',
      'user: Wait.',
      'summary',
      'assistant: Yes.',
    ])
    expect(JSON.stringify(api.requests.at(-1)?.body)).toContain('Short.')
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('a reply with calls keeps them: their results come before what was said, too', async () => {
    const said: Said[] = []
    const { chat, turn, shown, refused } = await scene(said)
    said.push(async () => {
      await chat.append({ role: 'user', content: 'Wait.' })
      return calls('read')
    }, yes)
    await chat.append(task)
    expect(await turn({ tools, run: { read: () => 'done' } })).toMatchObject({ calls: 2 })
    expect(await shown()).toEqual([
      'user: Is it there?',
      'assistant: Let me look. read()',
      'user: <done>',
      'user: Wait.',
      'assistant: Yes.',
    ])
    expect(refused()).toEqual([])
  })

  it('a configuration alone is no reason to drop the reply, nor is what was said and taken back', async () => {
    const { turned, shown } = await during(
      once(async (conversation) => {
        await conversation.append({ role: 'user', content: 'Wait.' })
        await conversation.rewind({ turns: 1 })
        await conversation.configure({ system: 'Be quick.' })
      }),
    )
    expect(await turned).toMatchObject({ calls: 1 })
    expect((await shown()).at(-1)).toBe('assistant: Yes.')
  })

  it('what somebody else says for the model makes it stale', async () => {
    const { turned } = await during((chat) => chat.append({ role: 'assistant', content: 'No.' }))
    await expect(turned).rejects.toMatchObject({ _tag: 'StaleContext' })
  })

  it('what the user says while tools run comes after their results, and the turn continues', async () => {
    const { chat, turn, shown, refused } = await scene([calls('read'), yes])
    await chat.append(task)
    const read = async (): Promise<string> => {
      await chat.append({ role: 'user', content: 'And hurry.' })
      await chat.append({ role: 'user', content: 'Please.' })
      return 'done'
    }
    expect(await turn({ tools, run: { read } })).toMatchObject({ calls: 2 })
    expect(await shown()).toEqual([
      'user: Is it there?',
      'assistant: Let me look. read()',
      'user: <done>',
      'user: And hurry.',
      'user: Please.',
      'assistant: Yes.',
    ])
    expect(refused()).toEqual([])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('so it does where something was configured or condensed as well while they ran', async () => {
    const { api, chat, turn, shown } = await scene([calls('read'), yes])
    await chat.append([task, { role: 'assistant', content: 'Where?' }, task])
    const read = async (): Promise<string> => {
      await chat.append({ role: 'user', content: 'And hurry.' })
      await chat.configure({ system: 'Be quick.' })
      await chat.condense({ covers: { first: 0, last: 1 }, summary: 'It is lost.' })
      return 'done'
    }
    expect(await turn({ tools, run: { read } })).toMatchObject({ calls: 2 })
    expect((await shown()).slice(1)).toEqual([
      'user: Is it there?',
      'assistant: Let me look. read()',
      'user: <done>',
      'user: And hurry.',
      'assistant: Yes.',
    ])
    expect(api.requests.at(-1)?.body).toMatchObject({ system: [{ text: 'Be quick.' }] })
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('a condense does not', async () => {
    const { turned, shown } = await during((chat) =>
      chat.condense({ summary: 'So far.', covers: { first: 1, last: 1 } }),
    )
    await expect(turned).resolves.toMatchObject({ calls: 1 })
    expect(await shown()).toEqual(
      ['user: Is it there?', 'summary', 'user: Is it there?', 'assistant: Yes.'].toSpliced(1, 1, 'summary'),
    )
  })

  it('a rewind while tools run abandons their results', async () => {
    const { chat, turn, shown } = await scene([calls('read'), yes])
    await chat.append(task)
    const run = {
      read: async () => {
        await chat.rewind({ to: 0 })
        return 'late'
      },
    }
    await expect(turn({ tools, run })).rejects.toMatchObject({ _tag: 'StaleContext' })
    expect(await shown()).toEqual(['user: Is it there?'])
  })
})

describe('the tokens of the next request', () => {
  it('are counted from the log, and by the API where a client is given', async () => {
    const { chat, api } = await scene([yes])
    await chat.append({ role: 'user', content: 'Is it there? '.repeat(40) })
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const { total, exact } = await chat.tokens({ client, model: 'claude-opus-5-5' })
    expect(api.requests).toMatchObject([{ path: '/v1/messages/count_tokens', status: 200 }])
    expect(api.requests[0]?.answer).toEqual({ input_tokens: exact })
    expect(total / Number(exact)).toBeGreaterThan(0.5)
    expect(await chat.tokens()).not.toHaveProperty('exact')
    await expect(chat.tokens({ client })).rejects.toMatchObject({ _tag: 'ModelFailed', status: 404 })
  })

  it.each([
    ['no Either', () => Promise.resolve(undefined), 'it did not return a number of tokens'],
    [
      'no number',
      () => Promise.resolve({ _tag: 'Right', right: '5' }),
      'it did not return a number of tokens',
    ],
    ['an exception', () => Promise.reject(new Error('no')), 'it threw'],
  ])('cannot be counted by a Model that answers %s: the error says so', async (_, countTokens, problem) => {
    const { chat } = await scene([yes])
    await chat.append(task)
    const client = { call: countTokens, countTokens } as never
    await expect(chat.tokens({ client, model: 'm' })).rejects.toMatchObject({
      _tag: 'ModelFailed',
      message: `the model's countTokens failed (${problem}): fix the Model, or omit the client`,
    })
  })

  it('are not asked of the API while the user is awaited: it counts no request that ends in a reply', async () => {
    const { chat, api, turn } = await scene([yes])
    await chat.append(task)
    await turn()
    const before = api.requests.length
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const count = await chat.tokens({ client, model: 'claude-opus-5-5' })
    expect(count).not.toHaveProperty('exact')
    expect(count).toEqual(await chat.tokens())
    expect(count.estimated).toBe(0)
    expect(api.requests).toHaveLength(before)
  })
})
