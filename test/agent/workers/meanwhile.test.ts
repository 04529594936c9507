import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openStore, type AttemptReport, type TurnOptions } from '../../../src/index.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { storeOn } from '../../../src/api/open.ts'
import { orThrow, run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { createCancelMethod } from '../../../src/agent/turn/say/cancel.ts'
import type { TurnError } from '../../../src/agent/turn/turn-result.ts'
import { type Clock, ownClock } from '../../../src/agent/workers/peers/clock.ts'
import { createWorkRequester } from '../../../src/agent/workers/requests.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'
import { hand, lasting, say, stepsOf, until } from '../../support/workers/hands.ts'

const ask = { role: 'user' as const, content: 'Is it there?' }
const looks = {
  content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }],
  stop_reason: 'tool_use',
} as const

/** A worker, and what the model is asked; its first call looks something up. */
const scene = async (turn: (again: () => Promise<void>) => Partial<TurnOptions>, first = async () => {}) => {
  const asked: string[] = []
  const api = await messagesApi({
    reply: async ({ messages }) => {
      asked.push(JSON.stringify(messages.at(-1)?.content))
      if (asked.length > 1) return { content: [text('Yes.')] }
      await first()
      return looks
    },
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const again = async (): Promise<void> => {
    await chat.append({ role: 'user', content: 'And now?' }, { answer: true })
    // Long enough for the worker to hear of it.
    await sleep(50)
  }
  const ended: AttemptReport[] = []
  const stop = new AbortController()
  const worker = store.worker({
    turn: () => ({
      client,
      model: 'claude-opus-5-5',
      maxRetries: 0,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      run: { look: () => 'It is there.' },
      ...turn(again),
    }),
    onStep: (step) => ended.push(step),
    grace: 0,
  })
  const done = worker.run({ signal: stop.signal })
  atEnd(async () => {
    stop.abort()
    await done
  })
  return { store, chat, asked, ended, again }
}

test('what is said after the last step by stopWhen is answered', async () => {
  const { store, chat, asked } = await scene((again) => ({
    stopWhen: async ({ calls }) => {
      const isLast = calls.length > 0
      if (isLast) await again()
      return isLast
    },
  }))
  await chat.append(ask, { answer: true })
  await until(() => asked.length === 2)
  expect(asked[1]).toContain('And now?')
  for await (const step of store.steps()) expect(step.state).toBe('claimed')
})

test('what stopWhen ends is over, although the user spoke while the model replied: the model has seen it', async () => {
  let speak = async (): Promise<void> => {}
  const { store, chat, asked, ended, again } = await scene(
    () => ({ stopWhen: ['look'] }),
    () => speak(),
  )
  speak = async () => {
    speak = async () => {}
    await again()
  }
  await chat.append(ask, { answer: true })
  await until(() => ended.length > 0)
  await sleep(100)
  expect(asked.at(-1)).toContain('And now?')
  for await (const step of store.steps()) expect(step).toBe('nothing is left')
})

test('what is said right after a cancel is answered', async () => {
  const gate = Promise.withResolvers<void>()
  const { chat, asked, again } = await scene(
    () => ({}),
    () => gate.promise,
  )
  await chat.append(ask, { answer: true })
  await until(() => asked.length === 1)
  await Promise.all([chat.cancel({ by: 'ann' }), sleep(1).then(again)])
  gate.resolve()
  await until(() => asked.length === 2)
  expect(asked[1]).toContain('And now?')
})

test('a turn that is cancelled is over', async () => {
  const gate = Promise.withResolvers<void>()
  const { store, chat, asked, ended } = await scene(
    () => ({}),
    () => gate.promise,
  )
  await chat.append(ask, { answer: true })
  await until(() => asked.length === 1)
  await chat.cancel({ by: 'ann' })
  await until(() => ended.length > 0)
  gate.resolve()
  await sleep(50)
  for await (const step of store.steps()) expect(step).toBe('nothing is left')
  expect(asked).toHaveLength(1)
})

test('also if the worker hears of it before the turn has ended', async () => {
  const store = memoryStore()
  const cancelled: TurnError = { _tag: 'TurnCancelled', message: 'cancelled', conversation: 'c' }
  let given = 0
  await say(store, 'c', true)
  hand(store, 'w', {
    give: async (chat, signal) => {
      if (++given > 1) return lasting(chat, signal)
      await createCancelMethod(chat)()()
      await say(store, 'c', true)
      await sleep(50)
      return E.left(cancelled)
    },
  })
  await until(() => given > 1)
  expect(given).toBe(2)
})

test('and also if it is a request without words', async () => {
  const store = memoryStore()
  const cancelled: TurnError = { _tag: 'TurnCancelled', message: 'cancelled', conversation: 'c' }
  let given = 0
  await say(store, 'c', true)
  hand(store, 'w', {
    give: async (chat, signal) => {
      if (++given > 1) return lasting(chat, signal)
      await createCancelMethod(chat)()()
      await createWorkRequester(chat).request()()
      await sleep(50)
      return E.left(cancelled)
    },
  })
  await until(() => given > 1)
  expect(given).toBe(2)
})

describe('a turn that is cancelled whose worker dies', () => {
  /** A worker has claimed the conversation and is gone, and somebody has cancelled its turn. */
  const cancelledWithout = async (deed: (store: EventStore) => Promise<unknown> = async () => {}) => {
    const store = memoryStore()
    await say(store, 'c', true)
    const gone = hand(store, 'gone', { give: lasting })
    await until(async () => (await stepsOf(store)).join() === 'c claimed')
    await createCancelMethod(storeOn(store, { kind: 'test' }).conversation('c'))()()
    await deed(store)
    return { store, gone }
  }
  const report = (store: EventStore) => storeOn(store, { kind: 'test' }).workerStopped('gone')()

  test('is over: nobody takes it over', async () => {
    const { store } = await cancelledWithout()
    await report(store)
    expect(await stepsOf(store)).toEqual([])
  })

  test('also if nobody reports the death, and something is said that requests nothing', async () => {
    const { store, gone } = await cancelledWithout((its) => say(its, 'c'))
    let given = 0
    const give = () => {
      given++
      return Promise.resolve(E.left({ _tag: 'ModelFailed', message: 'no' } as const))
    }
    // Its clock runs so fast that the other worker is silent to it.
    const quick: Clock = {
      now: () => performance.now() * 1_000,
      after: (ms, ring) => ownClock.after(ms / 1_000, ring),
    }
    hand(store, 'heir', { give, ttl: 1_000_000 }, quick)
    await until(async () => (await stepsOf(store)).length === 0)
    expect(given).toBe(0)
    gone.stop()
  })

  test('until an answer is requested again', async () => {
    const { store } = await cancelledWithout((its) => say(its, 'c', true))
    await report(store)
    expect(await stepsOf(store)).toEqual(['c open'])
  })
})

test('what is requested while a step is being parked opens it again', async () => {
  const store = memoryStore()
  await say(store, 'c', true)
  const { turnLog } = storeOn(store, { kind: 'test' }).conversation('c')
  const errors = ['no', 'no', 'no', 'no', 'no']
  const facts = [
    { type: 'TurnsBegun', data: { at: 0 } },
    { type: 'TurnRequested', data: { at: 0 } },
    { type: 'TurnParked', data: { step: 'conversation@0', attempts: 5, errors, at: 0 } },
  ] as const
  await orThrow(run(turnLog.append(facts, -1)))
  expect(await stepsOf(store)).toEqual(['c open'])
})
