import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { type Conversation, openStore } from '../../src/index.ts'
import { type AgentOptions, replayAgent } from '../../src/investigate/index.ts'
import type { ApiReply } from '../../src/testing/messages-api/replies.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import type { Model } from '../../src/agent/models/model.ts'
import { openAiModel } from '../../src/agent/models/openai/model.ts'
import { chatCompletions } from '../../src/testing/chat-completions/server.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { root } from '../e2e/snippets/snippets.ts'
import { text, toolUse } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { type Plan, steered } from '../support/steered-runs/plan.ts'
import { runSteered } from '../support/steered-runs/run.ts'
import { definitions, toolsOf } from '../support/steered-runs/tools.ts'

const opened: { readonly close: () => Promise<void> }[] = []
afterAll(async () => {
  for (const one of opened) await one.close()
})

const ran: string[] = []
const running = (name: string, result: string) => (): string => {
  ran.push(name)
  return result
}
const tool = (name: string) => ({
  name,
  description: `Does ${name}.`,
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
})
const results = 'lines of a file '.repeat(60)
const agent = {
  model: 'claude-opus-5-5',
  system: 'You answer.',
  tools: [tool('read'), tool('grep'), tool('publish')],
  run: {
    read: running('read', results),
    grep: running('grep', 'found'),
    publish: { run: running('publish', 'Published.'), approve: true },
  },
  parameters: { max_tokens: 500 },
  context: { window: 2_600, keepLast: 2 },
  summarizer: { model: 'claude-opus-5-5', window: 100_000 },
} satisfies AgentOptions

const unasked: Model = {
  call: async () => E.left({ _tag: 'ModelFailed', message: 'nobody asks' }),
  countTokens: async () => E.left({ _tag: 'ModelFailed', message: 'nobody asks' }),
}

const uses = (...names: readonly string[]): ApiReply => ({
  content: names.map((name, index) => ({ ...toolUse(`${name}-${index}`), name, input: { path: 'a.ts' } })),
})
const says = (content: string): ApiReply => ({ content: [text(content)] })

/** Parallel tools, an approval, a rewind, a truncation by hand, a word that comes while the model thinks, summaries, a fork. */
const played = async () => {
  let n = 0
  const script: readonly ApiReply[] = [
    uses('read', 'grep'),
    says('It is there.'),
    uses('publish'),
    says('Published.'),
    says('Once more.'),
    uses('read'),
    says(`At length. ${'It goes on and on. '.repeat(40)}`),
  ]
  const answer = ({ system }: { readonly system?: unknown }): ApiReply =>
    typeof system === 'string' && system.startsWith('You summarize')
      ? says('They talked.')
      : (script[n++ % script.length] ?? says('Yes.'))
  const api = await messagesApi({ reply: answer })
  const store = await openStore('memory:')
  opened.push(api, store)
  const chat = store.conversation('c')
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const turn = (given: AgentOptions) => chat.turn({ ...given, client })
  await chat.append({ role: 'user', content: 'Is it there?' })
  const ask = async (content: string): Promise<void> => {
    await chat.append({ role: 'user', content })
    await turn(agent)
  }
  await turn(agent)
  await ask('Publish it.')
  const [waiting] = await chat.waiting()
  if (waiting) await chat.approve(waiting.call, { by: 'ann' })
  await turn(agent)
  await ask('And again?')
  const before = await chat.position()
  await ask('Read it again.')
  await chat.rewind({ to: before })
  for (let round = 0; round < 9; round++) await ask(`Round ${round}: ${'what of this? '.repeat(20)}`)
  return chat
}
const chat = await played()

describe('an agent that is replayed', () => {
  test('does what the log says that it did, and runs no tool', async () => {
    const before = ran.length
    const found = await replayAgent(chat, { agent })
    expect(found).toMatchObject({ isSame: true, unproven: 0, unknown: 0 })
    expect([found.replies > 15, found.markers > 0, found.results > 8, ran.length > 4]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(ran.length).toBe(before)
    expect(await replayAgent(await chat.fork('same'), { agent: async () => agent })).toMatchObject({
      isSame: true,
      replies: found.replies,
    })
  })

  const changed: readonly [string, Partial<AgentOptions>, object][] = [
    ['another model', { model: 'claude-sonnet-5-5' }, { kind: 'request', call: 1, path: 'model' }],
    [
      'another system prompt',
      { system: 'You answer briefly.' },
      { kind: 'request', call: 1, path: 'system[0]', agent: 'You answer briefly.', log: 'You answer.' },
    ],
    [
      'no system prompt any more',
      { system: undefined },
      { kind: 'request', call: 1, path: 'system', agent: '(nothing)' },
    ],
    [
      'another schema of a tool',
      {
        tools: [
          agent.tools[0],
          { ...tool('grep'), input_schema: { type: 'object' } },
          agent.tools[2],
        ] as never,
      },
      { kind: 'request', call: 1, path: 'tools[1]' },
    ],
    [
      'a tool removed',
      { tools: agent.tools.slice(0, 2), run: { read: agent.run.read, grep: agent.run.grep } },
      { kind: 'request', call: 1, path: 'tools[2]', agent: '(nothing)' },
    ],
    [
      'another parameter',
      { parameters: { max_tokens: 500, temperature: 0.5 } },
      { kind: 'request', call: 1, path: 'parameters.temperature', agent: '0.5', log: '(nothing)' },
    ],
    ['no cache breakpoints', { cache: false }, { kind: 'request', call: 1, path: 'system[0]' }],
    [
      'a function for a tool gone',
      { run: { grep: agent.run.grep, publish: agent.run.publish } },
      {
        kind: 'tool',
        event: 3,
        path: 'read-0',
        agent: 'handed back read {"path":"a.ts"}',
        log: 'ran read {"path":"a.ts"}',
      },
    ],
    [
      'an approval no longer asked for',
      { run: { ...agent.run, publish: agent.run.publish.run } },
      { kind: 'tool', agent: 'ran publish {"path":"a.ts"}', log: expect.stringContaining('waited for') },
    ],
    [
      'an approval asked for',
      { run: { ...agent.run, grep: { run: agent.run.grep, approve: true } } },
      { kind: 'tool', event: 3, path: 'grep-1', log: 'ran grep {"path":"a.ts"}' },
    ],
    ['less shown of a result', { maxResult: 300 }, { kind: 'result', event: 3, path: 'content[0]' }],
    ['an earlier end', { stopWhen: ['grep'] }, { kind: 'end', call: 2 }],
    [
      'a step prepared otherwise',
      { prepareStep: ({ step }) => (step === 2 ? { system: 'Be brief.' } : undefined) },
      { kind: 'request', call: 2, path: 'system[0]', agent: 'Be brief.' },
    ],
    [
      'a smaller window',
      { context: { ...agent.context, window: 2_000 } },
      { kind: 'context', agent: expect.stringMatching(/^condensed/), log: 'called the model' },
    ],
    [
      'a larger window',
      { context: { ...agent.context, window: 100_000 } },
      { kind: 'context', agent: 'called the model', log: expect.stringMatching(/^condensed/) },
    ],
    [
      'truncation in place of summaries',
      { summarizer: false },
      {
        kind: 'context',
        agent: expect.stringMatching(/^(truncated|asked)/),
        log: expect.stringMatching(/^condensed/),
      },
    ],
    [
      'other instructions for summaries',
      { summarizer: { ...agent.summarizer, instructions: 'Be short.' } },
      { kind: 'summary', path: expect.stringMatching(/^messages/), agent: 'Be short.' },
    ],
    [
      'another model for summaries',
      { summarizer: { ...agent.summarizer, model: 'claude-haiku-4-5' } },
      { kind: 'summary', path: 'model' },
    ],
    [
      'a function that summarizes',
      { summarizer: async () => ({ blocks: [text('No.')] }) },
      { kind: 'summary', path: 'summarizer' },
    ],
  ]
  test.each(changed)('with %s differs there', async (_, more, expected) => {
    const before = ran.length
    const { divergence, isSame } = await replayAgent(chat, { agent: { ...agent, ...more } })
    expect([isSame, divergence]).toEqual([false, expect.objectContaining(expected)])
    expect(ran.length).toBe(before)
  })

  test.each(['a program', 'workers'])(
    'does not differ where its turn stopped early and was continued, by %s',
    async (who) => {
      const script = [uses('grep'), uses('grep'), says('Yes.')]
      let n = 0
      const api = await messagesApi({ reply: () => script[n++] ?? says('No.') })
      const store = await openStore('memory:')
      opened.push(api, store)
      const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
      const stopping = { ...agent, stopWhen: ['grep'] }
      const continued = store.conversation('c')
      const ends = new AbortController()
      const worker = store.worker({ turn: () => ({ ...stopping, client }) })
      const working = who === 'workers' && worker.run({ signal: ends.signal })
      await continued.append({ role: 'user', content: 'Is it there?' })
      for (let turn = 0; turn < script.length; turn++)
        if (working) {
          await continued.request()
          for await (const { steps } of store.workers({ every: 5 })) if (steps.length === 0) break
        } else await continued.turn({ ...stopping, client })
      ends.abort()
      await working
      expect(await replayAgent(continued, { agent: stopping })).toMatchObject({
        isSame: true,
        replies: 3,
        unknown: 0,
      })
    },
  )

  test('is looked at from a call on: what another agent has done before does not count', async () => {
    const { replies } = await replayAgent(chat, { agent })
    const other = await chat.fork('other')
    await other.append({ role: 'user', content: 'And now?' })
    const careful = { ...agent, system: 'You answer with care.' }
    const client: Model = { ...unasked, call: async () => E.right({ content: [text('Yes.')], origin: {} }) }
    await other.turn({ ...careful, client })
    expect((await replayAgent(other, { agent: careful })).divergence).toMatchObject({ call: 1 })
    let length = 0
    for await (const { number } of other.calls()) length = number
    expect(length).toBeGreaterThan(replies)
    expect(await replayAgent(other, { agent: careful, from: length })).toMatchObject({
      isSame: true,
      replies: 1,
    })
  })

  /** A conversation that another program began, continued by a turn that has to truncate it first. */
  const continuedFrom = async () => {
    const store = await openStore('memory:')
    opened.push(store)
    const other = store.conversation('other')
    for (let round = 0; round < 6; round++) {
      await other.append({ role: 'user', content: `Round ${round}: ${'what of this? '.repeat(60)}` })
      await other.append({ role: 'assistant', content: 'Yes.', origin: { model: 'm' } })
    }
    await other.append({ role: 'user', content: 'And now?' })
    const small = { ...agent, context: { window: 1_800 }, summarizer: false as const }
    const client: Model = { ...unasked, call: async () => E.right({ content: [text('Yes.')], origin: {} }) }
    await other.turn({ ...small, client })
    return { other, small }
  }

  test('is compared in what it hides before its first call, and in nothing that comes before a later one', async () => {
    const { other, small } = await continuedFrom()
    expect(await replayAgent(other, { agent: small })).toMatchObject({ isSame: true, replies: 1, markers: 1 })
    const larger = { ...small, context: { window: 2_600 } }
    const { divergence, ...found } = await replayAgent(other, { agent: larger })
    expect([found.markers, divergence]).toMatchObject([1, { kind: 'context', event: 14 }])
    const nothing = await replayAgent(other, { agent: larger, from: 2 })
    expect(nothing).toMatchObject({ isSame: false, replies: 0, markers: 0 })
    expect(nothing.divergence).toBeUndefined()
  })

  test('says how many replies have no receipt, also where none has', async () => {
    const { other, small } = await continuedFrom()
    expect(await replayAgent(other, { agent: small })).toMatchObject({ unproven: 6 })
    const before = await other.fork('before', { at: 11 })
    expect(await replayAgent(before, { agent: small })).toMatchObject({
      isSame: false,
      replies: 0,
      unproven: 6,
    })
  })

  test('sees its conversation as it was, and cannot write to it', async () => {
    const seen: number[] = []
    const looking = async ({ chat: then }: { readonly chat: Conversation }) => {
      seen.push(await then.position(), (await then.effective()).length)
      return agent
    }
    await replayAgent(chat, { agent: looking })
    expect(seen.slice(0, 2)).toEqual([1, 1])
    const counts: number[] = []
    const counting = async ({ chat: then }: { readonly chat: Conversation }) => {
      const count = async (all: AsyncIterable<unknown>): Promise<number> => {
        let number = 0
        for await (const _ of all) number++
        return number
      }
      counts.push(await count(then.calls()), (await count(then.stored())) - (await then.position()))
      return agent
    }
    await replayAgent(chat, { agent: counting })
    expect(counts.slice(0, 4)).toEqual([0, 1, 2, 1])
    const end = await chat.position()
    const writes: readonly ((then: Conversation) => Promise<unknown>)[] = [
      (then) => then.append({ role: 'user', content: 'No.' }),
      (then) => then.execute({ type: 'rewind', to: 0 }),
    ]
    for (const write of writes) {
      const writing = async ({ chat: then }: { readonly chat: Conversation }) => {
        await write(then)
        return agent
      }
      await expect(replayAgent(chat, { agent: writing })).rejects.toMatchObject({
        _tag: 'InvalidInput',
        path: 'agent',
      })
    }
    expect(await chat.position()).toBe(end)
  })
})

test('an agent at Chat Completions is held against what was sent there, with its client or without', async () => {
  let n = 0
  const api = await chatCompletions({
    models: { 'gpt-5.2': { contextWindow: 100_000 } },
    reply: () =>
      n++ % 2 ? { content: 'Yes.' } : { tool_calls: [{ name: 'read', arguments: { path: 'a.ts' } }] },
  })
  const store = await openStore('memory:')
  opened.push(api, store)
  const { summarizer: _, ...options } = { ...agent, model: 'gpt-5.2' }
  const client = openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'key' }), { system: 'developer' })
  const other = store.conversation('chat')
  for (const content of ['Is it there?', 'And there?']) {
    await other.append({ role: 'user', content })
    await other.turn({ ...options, client })
  }
  for (const own of [{ ...options, client }, options])
    expect(await replayAgent(other, { agent: own })).toMatchObject({ isSame: true, replies: 4, results: 2 })
  const plain = openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'key' }))
  expect((await replayAgent(other, { agent: { ...options, client: plain } })).divergence).toMatchObject({
    call: 1,
    path: 'messages[0]',
    agent: expect.stringContaining('system'),
    log: expect.stringContaining('developer'),
  })
})

/** Every turn with the same options. */
const alike = (plan: Plan): Plan =>
  JSON.parse(JSON.stringify(plan), (key, value: unknown) =>
    key === 'options'
      ? {
          ...(value as object),
          system: 0,
          isForced: false,
          stopWhen: undefined,
          prepares: false,
          hasTools: true,
        }
      : value,
  ) as Plan

test('an agent that has given all turns differs nowhere, whatever people did meanwhile and wherever its process died', async () => {
  await fc.assert(
    fc.asyncProperty(steered, (plan) =>
      runSteered(alike(plan), async ({ chats, open }) => {
        const own = {
          model: 'model',
          system: 'System 0.',
          tools: definitions,
          run: toolsOf({ at: async () => {}, count: () => 0, isDead: () => false } as never, async () => {}),
          context: { window: plan.isSmall ? 900 : 100_000 },
          parameters: { max_tokens: 200 },
        }
        for (const id of chats) {
          const found = await replayAgent(open(id), { agent: own })
          expect(found.divergence).toBeUndefined()
          const other = await replayAgent(open(id), { agent: { ...own, system: 'Another one.' } })
          if (found.replies > 0) expect(other.isSame).toBe(false)
        }
      }),
    ),
    { numRuns: runs(20) },
  )
})

describe('replay --agent', () => {
  test('ends with 0 where nothing differs, 1 where something does, 2 where nothing can be compared', () =>
    inDirectory(async (directory) => {
      const own = join(root, 'examples/sample/agent.ts')
      await shell(`palimpsest import ${join(root, 'examples/sessions/receipts.jsonl')}`, directory)
      await shell(`palimpsest import ${join(root, 'examples/sessions/pi.jsonl')} --id other`, directory)
      const write = (name: string, code: string): void => writeFileSync(join(directory, name), code)
      write(
        'brief.ts',
        `import { agent } from ${JSON.stringify(own)}\nexport default () => ({ ...agent, system: 'Be brief.' })`,
      )
      write('broken.ts', `export default () => { throw new RangeError('no') }`)
      write('invalid.ts', `export default () => ({ model: '' })`)
      const replayed = (id: string, file: string) =>
        shell(`palimpsest replay ${id} --agent ${file}`, directory)
      expect(await replayed('hours-invoice', own)).toEqual({
        code: 0,
        stderr: '',
        stdout:
          'same: 21 replies, 2 summaries and truncations, 32 tool calls\nunknown whether 32 tool calls waited for a person: another store recorded that\n',
      })
      expect(await replayed('hours-invoice.explore', own)).toMatchObject({ code: 0 })
      expect(await replayed('hours-invoice-other-way', own)).toMatchObject({ code: 0 })
      expect(await replayed('hours-invoice', './brief.ts')).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(
          /^differs at 2, call 1: request system\[0\]\n {2}agent {2}Be brief\.\n {2}log {4}You work on/,
        ),
      })
      for (const [id, file] of [
        ['hours-invoice', './broken.ts'],
        ['hours-invoice', './invalid.ts'],
        ['hours-invoice', './missing.ts'],
        ['none', own],
        ['other', own],
      ] as const)
        expect(await replayed(id, file)).toMatchObject({ code: 2, stdout: '' })
      write('waiting.ts', 'export default () => new Promise(() => {})')
      // In a process of its own: it ends where nothing is left to be done.
      const waiting = 'palimpsest replay hours-invoice --agent ./waiting.ts || exit $?'
      expect(await shell(waiting, directory)).toEqual({
        code: 2,
        stdout: '',
        stderr: 'error: the agent ./waiting.ts failed: it awaits a promise that never settles\n',
      })
    }))
})
