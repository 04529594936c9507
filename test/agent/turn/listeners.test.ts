import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { Model } from '../../../src/agent/models/model.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import { openStore } from '../../../src/index.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { failure } from '../../support/either.ts'
import { text, toolUse } from '../../support/log.ts'
import { type Scene, scene, yes } from '../../support/turn-scene.ts'

// A signal may live as long as the program, and serve thousands of turns.

const reply = { content: [text('Yes.')], origin: {} }
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

/** How many listeners a turn with these options leaves on its signal, in a context that has to be condensed. */
const leftBy = async (options: Partial<TurnOptions>): Promise<number> => {
  let asked = 0
  const api = await messagesApi({
    reply: () => ({
      content: asked++ === 0 ? [{ ...toolUse('t'), id: undefined, name: 'read' }] : [text('Yes.')],
    }),
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  for (let turn = 0; turn < 12; turn++)
    await chat.append([
      { role: 'user', content: 'word '.repeat(100) },
      { role: 'assistant', content: 'word '.repeat(100) },
    ])
  await chat.append({ role: 'user', content: 'Is it there?' })
  const { signal } = new AbortController()
  await chat.turn({
    client: new Anthropic({ baseURL: api.url, apiKey: 'key' }),
    model: 'claude-opus-5-5',
    tools: [{ name: 'read', input_schema: { type: 'object' } }],
    run: { read: () => 'x' },
    context: { window: 3_000, reserved: 500 },
    parameters: { max_tokens: 500 },
    signal,
    ...options,
  })
  return listeners(signal)
}

describe('a turn leaves no listener on its signal', () => {
  it('of a client of the SDK, with its summaries and tools', async () => {
    expect(await leftBy({})).toBe(0)
  })

  it.each<readonly [string, Model['call']]>([
    ['that answers', async () => E.right(reply)],
    ['that answers at once', (() => E.right(reply)) as never],
    [
      'that listens itself, and stops',
      async (_, { signal } = {}) => {
        const listener = (): void => undefined
        signal?.addEventListener('abort', listener)
        signal?.removeEventListener('abort', listener)
        return E.right(reply)
      },
    ],
  ])('of a Model of the caller’s %s', async (_, call) => {
    expect(await leftBy({ client: { call, countTokens: async () => E.right(1) }, summarizer: false })).toBe(0)
  })

  it('of a summarizer of the caller’s', async () => {
    expect(await leftBy({ summarizer: async () => ({ blocks: [text('They talked.')] }) })).toBe(0)
  })
})

describe('functions that never answer', () => {
  const calls = { content: [{ ...toolUse('read'), name: 'read' }] }
  const tools = [{ name: 'read', input_schema: { type: 'object' } }]
  const never = (): Promise<never> => new Promise(() => {})
  const run = { read: () => 'x' }

  const functions: readonly (readonly [string, (asked: () => void) => Partial<TurnOptions>])[] = [
    ['stopWhen', (asked) => ({ run, stopWhen: () => (asked(), never()) })],
    ['onStep', (asked) => ({ run, onStep: () => (asked(), never()) })],
    ['prepareStep', (asked) => ({ run, prepareStep: () => (asked(), never()) })],
    ['approve', (asked) => ({ run: { read: { run: run.read, approve: () => (asked(), never()) } } })],
  ]
  const ways: readonly (readonly [string, (made: Scene, user: AbortController) => unknown])[] = [
    ['its signal', (_, user) => user.abort()],
    ['a cancel', ({ chat }) => chat.cancel({ by: 'ann' })],
  ]

  it.each(functions.flatMap(([name, options]) => ways.map(([way, end]) => ({ name, options, way, end }))))(
    'a turn whose $name never answers is ended by $way',
    async ({ options, end }) => {
      const made = await scene([calls, yes])
      const user = new AbortController()
      const asked = Promise.withResolvers<void>()
      const ended = failure(made.turn({ tools, signal: user.signal, ...options(asked.resolve) }))
      await asked.promise
      await end(made, user)
      expect(await ended).toMatchObject({ _tag: expect.stringMatching(/^(ModelAborted|TurnCancelled)$/) })
    },
  )
})
