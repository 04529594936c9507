import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { freeze } from '../../../src/events/freeze.ts'
import type { Effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { text, toolUse } from '../../support/log.ts'
import { scene, yes } from '../../support/turn-scene.ts'

/** Writes into everything that can be reached from a value, as far as that lets it. */
const spoil = (value: unknown, seen = new Set<object>()): void => {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  const fields = value as Record<string, unknown>
  for (const [key, inner] of Object.entries(fields)) {
    spoil(inner, seen)
    Reflect.set(fields, key, 'spoilt')
  }
  if (Array.isArray(value)) Reflect.apply(spoilArray, value, [])
  Reflect.set(fields, 'spoilt', true)
}
function spoilArray(this: unknown[]): void {
  if (Object.isExtensible(this)) this.push('spoilt')
}

const call = { ...toolUse('t', { path: 'a' }), id: undefined, name: 'read' }
const options = {
  system: [text('Be brief.')],
  tools: [{ name: 'read', input_schema: { type: 'object' } }],
  run: { read: () => 'x' },
}

describe('what is given away may be changed, and nothing else changes', () => {
  it('the request of a Model of the caller’s: later requests and receipts are what was sent', async () => {
    const { chat, turn } = await scene([])
    const sent: string[] = []
    const client = {
      call: async (request: object) => {
        sent.push(JSON.stringify(request))
        spoil(request)
        return sent.length === 1
          ? E.right({ content: [{ ...call, id: 'toolu_1' }], origin: { stopReason: 'tool_use' } })
          : E.right({ content: [text('Yes.')], origin: {} })
      },
      countTokens: async () => E.right(1),
    }
    await turn({ ...options, client })
    await chat.append({ role: 'user', content: 'And now?' })
    await turn({ ...options, client })
    expect(sent).toHaveLength(3)
    expect(sent.join()).not.toContain('spoilt')
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
    for (const [index, request] of sent.entries()) {
      const { messages } = JSON.parse(request) as { messages: unknown }
      expect((await chat.sent(index + 1)).request.messages).toEqual(messages)
    }
  })

  it('what is rendered: the list of messages; what they hold cannot be changed', async () => {
    const { chat } = await scene([])
    await chat.configure({ system: options.system, tools: options.tools })
    const { messages, system, tools } = await chat.render()
    messages.push({ role: 'assistant', content: [] })
    expect(() => messages[0]?.content.push({ type: 'text', text: 'spoilt' })).toThrow(TypeError)
    expect([system, tools].every(Object.isFrozen)).toBe(true)
    expect((await chat.render()).messages).toHaveLength(1)
  })

  it('a client’s parameters: it cannot, and says so', async () => {
    const { chat, client, turn } = await scene([yes])
    const create = client.messages.create.bind(client.messages)
    client.messages.create = ((params: { messages: { content: { text: string }[] }[] }, more: never) => {
      const [block] = params.messages[0]?.content ?? []
      if (block) block.text = 'spoilt'
      return create(params as never, more)
    }) as never
    await expect(turn()).rejects.toMatchObject({ _tag: 'ModelFailed', message: /read only/ })
    expect(JSON.stringify(await chat.render())).not.toContain('spoilt')
  })

  it('what the listener is told', async () => {
    const { chat, turn } = await scene([{ content: [text('Yes.'), call] }, yes])
    await turn({ ...options, onEvent: spoil })
    expect(JSON.stringify(await chat.full())).not.toContain('spoilt')
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('what every reader gives', async () => {
    const { chat, turn } = await scene([{ content: [call] }, yes])
    await turn(options)
    await chat.condense({ covers: { first: 2, last: 3 }, summary: 'They read.' })
    const events = async () => {
      const all: unknown[] = []
      for await (const event of chat.events()) all.push(event)
      return all
    }
    const readers = [
      () => chat.render({ cache: '5m' }),
      () => chat.effective(),
      () => chat.context(),
      () => chat.full({ abandoned: true }),
      () => chat.diff({ from: 2 }),
      () => chat.timeline(),
      () => chat.sent(),
      () => chat.turn({ client: {} as never, model: '' }).catch(() => undefined),
      events,
    ]
    for (const reader of readers) {
      const before = JSON.stringify(await reader())
      spoil(await reader())
      expect(JSON.stringify(await reader())).toBe(before)
    }
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('what the pure functions give, of the history that they were given', async () => {
    const { chat, turn } = await scene([{ content: [call, text(' ')] }, yes])
    await turn(options)
    const view: Effective = await chat.context()
    const before = JSON.stringify(render(view, { cache: '5m' }))
    spoil(render(view, { cache: '5m' }))
    expect(JSON.stringify(render(view, { cache: '5m' }))).toBe(before)
    expect(JSON.stringify(render(view))).toBe(JSON.stringify(render(await chat.context())))
  })

  it('what the caller has passed', async () => {
    const { chat, turn } = await scene([{ content: [call] }, yes])
    const message = { role: 'user' as const, content: [text('Please.')] }
    const configuration = { system: [text('Be brief.')], parameters: { metadata: { user_id: 'u' } } }
    const passed = { ...options, ...configuration }
    const done = [chat.append(message), chat.configure(configuration)]
    const turned = Promise.all(done).then(() => {
      const turning = turn(passed)
      spoil(passed.parameters)
      spoil(passed.tools)
      spoil(passed.system)
      return turning
    })
    spoil(message)
    await turned
    expect(JSON.stringify(await chat.full())).not.toContain('spoilt')
    const configured = (await chat.timeline()).filter(({ event }) => event.type === 'Configured')
    expect(JSON.stringify(configured)).not.toContain('spoilt')
  })
})

describe('what is frozen', () => {
  it('is frozen all the way down, however deep that is', () => {
    let deep: unknown = {}
    for (let level = 0; level < 20_000; level++) deep = level % 2 ? [deep] : { deep }
    freeze(deep)
    let levels = 0
    for (let at = deep as Record<string, unknown> | undefined; at; levels++) {
      if (!Object.isFrozen(at)) break
      at = (at['deep'] ?? at['0']) as typeof at
    }
    expect(levels).toBe(20_001)
  })
})
