import Anthropic from '@anthropic-ai/sdk'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { ApiFailure } from '../../../src/testing/messages-api/replies.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'
import { ask, roles, scene, steps, until } from '../../support/workers/scene.ts'

describe('a worker', () => {
  test('answers what asks for an answer, and nothing else', async () => {
    const { store, worker, calls } = await scene()
    await store.conversation('plain').append(ask)
    await store.conversation('before').append(ask, { answer: true })
    worker()
    await store.conversation('after').append(ask, { answer: { tenant: 'acme', priority: 1 } })
    await until(async () => (await roles(store.conversation('after'))).length === 2)
    await until(async () => (await roles(store.conversation('before'))).length === 2)
    expect(await roles(store.conversation('plain'))).toEqual(['user'])
    expect(calls()).toBe(2)
    await store.conversation('plain').request()
    await until(async () => (await roles(store.conversation('plain'))).length === 2)
    await until(async () => (await steps(store)).length === 0)
  })

  test('is not created with options that are wrong', async () => {
    const { store } = await scene()
    const turn = () => ({}) as never
    const refusal = (options: object, message: string): void =>
      expect(() => store.worker({ turn, ...options })).toThrow(
        expect.objectContaining({ _tag: 'InvalidInput', message }),
      )
    refusal({ slotz: 1 }, 'slotz: is unknown: did you mean slots?')
    refusal({ slots: 0 }, 'slots: must be a whole number, 1 or more')
    refusal({ name: 'a b' }, 'name: must have 1 to 163 characters from A–Z a–z 0–9 . _ : -')
    refusal({ turn: undefined }, 'turn: must be a function that returns the options of a turn')
  })

  test('three workers call the model once for each message', async () => {
    const { store, worker, calls } = await scene(async () => {
      await sleep(20)
      return { content: [text('Yes.')] }
    })
    for (let n = 0; n < 3; n++) worker({ slots: 4 })
    const chats = Array.from({ length: 12 }, (_, n) => store.conversation(`c${n}`))
    for (let round = 1; round <= 2; round++) {
      await Promise.all(chats.map((chat) => chat.append(ask, { answer: true })))
      await until(async () => (await Promise.all(chats.map(roles))).every((all) => all.length === 2 * round))
    }
    expect(calls()).toBe(24)
  })

  test('tries again after a failed attempt, and counts it', async () => {
    let isBroken = true
    const { store, worker, calls, taken } = await scene(() =>
      isBroken
        ? { status: 500, type: 'api_error', message: 'no', retryAfter: 0 }
        : { content: [text('Yes.')] },
    )
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    worker()
    await until(() => taken.length > 0)
    expect(taken[0]).toMatchObject({ conversation: 'c', attempt: 1, outcome: 'failed' })
    expect(calls()).toBe(1)
    isBroken = false
    await until(async () => (await roles(chat)).length === 2)
    expect(taken.at(-1)).toMatchObject({ attempt: 2, outcome: 'settled' })
  })

  test('holds nothing while the API asks to wait for long, and counts no attempt', async () => {
    const later = { status: 429, type: 'rate_limit_error', message: 'later', retryAfter: 3_600 }
    const { store, worker, taken, calls } = await scene(() => later)
    await store.conversation('c').append(ask, { answer: true })
    worker({}, { maxRetries: 3 })
    await until(() => taken.length > 0)
    expect(taken).toMatchObject([
      { outcome: 'free', attempt: 1, error: expect.stringContaining('later') as string },
    ])
    await until(async () => (await steps(store))[0]?.state === 'open')
    const errors = [expect.stringContaining('later') as string]
    expect(await steps(store)).toMatchObject([{ state: 'open', attempt: 0, errors }])
    expect(calls()).toBe(1)
  })

  test.each<[string, ApiFailure | undefined, string]>([
    ['nothing listens at its address', undefined, 'did not answer'],
    ['a gateway answers for it', { status: 503, type: 'api_error', message: 'down' }, 'down'],
  ])('counts no attempt and waits while the API cannot be reached: %s', async (_, answer, problem) => {
    const { store, worker, taken } = await scene(() => answer ?? { content: [text('Yes.')] })
    await store.conversation('c').append(ask, { answer: true })
    // The port of a server that has closed.
    const gone = await messagesApi({ reply: () => ({ content: [] }) })
    await gone.close()
    const client = new Anthropic({ baseURL: gone.url, apiKey: 'key' })
    worker({}, answer ? {} : { client })
    await until(() => taken.length > 0)
    await until(async () => (await steps(store))[0]?.state === 'open')
    const errors = [expect.stringContaining(problem) as string]
    expect(taken.slice(0, 1)).toMatchObject([{ outcome: 'free', attempt: 1, error: errors[0] }])
    expect(taken[0]?.waitMs).toBeGreaterThanOrEqual(1_000)
    expect(await steps(store)).toMatchObject([{ state: 'open', attempt: 0, errors }])
  })

  test.each([400, 404, 413, 422])('parks at once what the API refuses with status %i', async (status) => {
    let isBroken = true
    const { store, worker, taken, calls } = await scene(() =>
      isBroken ? { status, type: 'invalid_request_error', message: 'bad' } : { content: [text('Yes.')] },
    )
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    worker({}, { maxRetries: 3 })
    const errors = [expect.stringContaining('bad') as string]
    await until(async () => (await steps(store))[0]?.state === 'parked')
    expect(await steps(store)).toMatchObject([{ state: 'parked', attempt: 1, errors }])
    expect(taken).toMatchObject([{ outcome: 'parked', attempt: 1, error: errors[0] }])
    expect(calls()).toBe(1)
    isBroken = false
    await chat.retry({ by: 'ann' })
    await until(async () => (await roles(chat)).length === 2)
  })

  test.each([
    [401, 'authentication_error', 'invalid x-api-key'],
    [402, 'billing_error', 'pay first'],
    [403, 'permission_error', 'no'],
    [400, 'invalid_request_error', 'Your credit balance is too low to access the API.'],
    [400, 'invalid_request_error', 'You have reached your specified API usage limits.'],
  ])(
    'counts no attempt and says why where the account is refused (%i %s: %s)',
    async (status, type, message) => {
      const { store, worker, taken, calls } = await scene(() => ({ status, type, message }))
      await store.conversation('c').append(ask, { answer: true })
      worker()
      await until(() => taken.length > 0)
      await until(async () => (await steps(store))[0]?.state === 'open')
      const errors = [expect.stringContaining(message) as string]
      expect(taken).toMatchObject([{ outcome: 'free', attempt: 1, error: errors[0] }])
      expect(await steps(store)).toMatchObject([{ state: 'open', attempt: 0, errors }])
      expect(calls()).toBe(1)
    },
  )

  test.each<[string, object, string]>([
    ['an unknown option', { maxTokens: 5 }, 'parameters: { max_tokens: … }'],
    ['a value that is none', { maxCalls: 0 }, 'maxCalls'],
    ['a secret that is not given', { parameters: { mcp_servers: [{ $secret: 'x' }] } }, 'x'],
    ['a budget without a price', { model: 'unpriced', budget: { usd: 1 } }, 'unpriced'],
    [
      'a client without a key',
      { client: new Anthropic({ apiKey: null, authToken: null }) },
      'resolve authentication method',
    ],
    ['an option of a step', { prepareStep: () => ({ modle: 'x' }) }, 'prepareStep.modle'],
  ])(
    'counts no attempt and says why where the turn refuses the options of the program (%s)',
    async (_, options, problem) => {
      const { store, worker, taken, calls } = await scene()
      await store.conversation('c').append(ask, { answer: true })
      const stop = worker({}, { ...options })
      await until(() => taken.length > 0)
      await until(async () => (await steps(store))[0]?.state === 'open')
      const errors = [expect.stringContaining(problem) as string]
      expect(taken).toMatchObject([{ outcome: 'free', attempt: 1, error: errors[0] }])
      expect(await steps(store)).toMatchObject([{ state: 'open', attempt: 0, errors }])
      expect(calls()).toBe(0)
      await stop()
    },
  )

  test.each([
    ['a fraction of a millisecond', 3_600.0005],
    ['longer than any timer can', Infinity],
  ])('holds nothing while the API asks to wait for %s', async (_, retryAfter) => {
    const later = { status: 429, type: 'rate_limit_error', message: 'later', retryAfter }
    const { store, worker, taken } = await scene(() => later)
    await store.conversation('c').append(ask, { answer: true })
    worker()
    await until(() => taken.length > 0)
    await until(async () => (await steps(store))[0]?.state === 'open')
    expect(await steps(store)).toMatchObject([{ state: 'open', attempt: 0 }])
  })

  test('holds nothing while a call waits for an approval, and continues once it is given', async () => {
    const { store, worker, taken } = await scene(({ messages }) =>
      messages.length > 1
        ? { content: [text('Done.')] }
        : { content: [{ type: 'tool_use', id: 't1', name: 'pay', input: {} }], stop_reason: 'tool_use' },
    )
    let paid = 0
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    const tools = [{ name: 'pay', input_schema: { type: 'object' } }]
    worker({ slots: 1 }, { tools, run: { pay: { run: () => String(++paid), approve: true } } })
    await until(async () => (await steps(store))[0]?.state === 'waiting')
    expect(taken.map(({ outcome }) => outcome)).toEqual(['waiting'])
    await chat.approve('t1', { by: 'ann' })
    await until(async () => (await steps(store)).length === 0)
    expect(paid).toBe(1)
    expect(await roles(chat)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  test('takes a step again when its approval is too late, and tells the model', async () => {
    const { store, worker, taken } = await scene(({ messages }) =>
      messages.length > 1
        ? { content: [text('Done.')] }
        : { content: [{ type: 'tool_use', id: 't1', name: 'pay', input: {} }], stop_reason: 'tool_use' },
    )
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    const tools = [{ name: 'pay', input_schema: { type: 'object' } }]
    const run = { pay: { run: () => 'paid', approve: true } }
    worker({ slots: 1 }, { tools, run, waiting: { expires: 50 } })
    await until(async () => (await roles(chat)).length === 4)
    expect(taken[0]).toMatchObject({ outcome: 'waiting' })
    expect(JSON.stringify(await chat.effective())).toContain('nobody approved it in time')
  })

  test('configures a conversation once for a claim, and calls the model with its own configuration', async () => {
    const systems: string[] = []
    const { store, worker } = await scene(({ messages, system }) => {
      systems.push(JSON.stringify(system))
      return JSON.stringify(messages.at(-1)).includes('tool_result')
        ? { content: [text('Done.')] }
        : { content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }], stop_reason: 'tool_use' }
    })
    const tools = [{ name: 'look', input_schema: { type: 'object' } }]
    const run = { look: { run: () => 'It is there.', effect: 'none' as const } }
    for (const system of ['Version 1.', 'Version 2.']) worker({ slots: 4 }, { system, tools, run })
    const chats = Array.from({ length: 10 }, (_, n) => store.conversation(`c${n}`))
    await Promise.all(chats.map((chat) => chat.append(ask, { answer: true })))
    await until(async () => (await Promise.all(chats.map(roles))).every((all) => all.length === 4))
    for (const chat of chats) {
      const configured = []
      for await (const { type } of chat.events()) if (type === 'Configured') configured.push(type)
      expect(configured).toHaveLength(1)
    }
    expect(systems).toHaveLength(20)
    expect(new Set(systems).size).toBeLessThanOrEqual(2)
  })

  test('that stops lets go of what it cannot end in time, and another takes it at once', async () => {
    let isStuck = true
    const over = Promise.withResolvers<void>()
    atEnd(over.resolve)
    const { store, worker, taken } = await scene(async () => {
      if (isStuck) await over.promise
      return { content: [text('Yes.')] }
    })
    const stop = worker({ grace: 0 })
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    await until(async () => (await steps(store))[0]?.state === 'claimed')
    await stop()
    expect(await steps(store)).toMatchObject([{ state: 'open', errors: [] }])
    isStuck = false
    worker()
    await until(async () => (await roles(chat)).length === 2)
    expect(taken.map(({ outcome }) => outcome)).toEqual(['shutdown', 'settled'])
  })

  test('of a name that no stream can have is not reported as ended, and neither is anything else without an id', async () => {
    const { store } = await scene()
    for (const id of ['a b', '', 'x'.repeat(201)])
      await expect(store.workerStopped(id)).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'worker' })
    for (const options of [null, 'x', { reason: 3 }, { why: 'x' }] as never[])
      await expect(store.workerStopped('x', options)).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })
})
