import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { type Conversation, type Model, openStore, type Store } from '../../src/index.ts'
import { type AgentOptions, counterfactual, type SamplePlan } from '../../src/investigate/index.ts'
import type { ApiReply } from '../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../src/testing/messages-api/request.ts'
import { messagesApi, type MessagesApi } from '../../src/testing/messages-api/server.ts'
import { run } from '../../src/cli/run.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { text, toolUse } from '../support/log.ts'

const definition = { name: 'read', input_schema: { type: 'object' } }

interface Played {
  readonly store: Store
  readonly chat: Conversation
  readonly api: MessagesApi
  readonly agent: AgentOptions
  readonly ran: string[]
  /** What the model says from now on. */
  readonly says: (reply: (body: ApiRequest) => ApiReply) => void
}

const reads = (path: string): ApiReply => ({
  content: [{ ...toolUse(`read-${path}`), name: 'read', input: { path } }],
})
const yes: ApiReply = { content: [text('Yes.')] }
const lastIn = ({ messages }: ApiRequest): string => JSON.stringify(messages.at(-1)?.content)

/** Asked whether it is there, it reads a.ts, then b.ts, then says so. Call 2 is the one that reads b.ts. */
const played = async (url = 'memory:'): Promise<Played> => {
  let answer = (body: ApiRequest): ApiReply =>
    lastIn(body).includes('text of a.ts')
      ? reads('b.ts')
      : lastIn(body).includes('text of b.ts')
        ? yes
        : reads('a.ts')
  const api = await messagesApi({ reply: (body) => answer(body) })
  const store = await openStore(url)
  atEnd(api.close, store.close)
  const ran: string[] = []
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const agent: AgentOptions = {
    client,
    model: 'claude-opus-5-5',
    system: 'You answer.',
    tools: [definition],
    run: {
      read: (input) => {
        const { path } = input as { readonly path: string }
        ran.push(path)
        if (path === 'b.ts') throw new Error('text of b.ts')
        return `text of ${path}`
      },
    },
  }
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Is it there?' })
  await chat.turn({ ...agent, client })
  ran.length = 0
  return { store, chat, api, agent, ran, says: (reply) => void (answer = reply) }
}

const eventsOf = async (chat: Conversation): Promise<string> => {
  const log = []
  for await (const event of chat.events()) log.push(event)
  return JSON.stringify(log)
}

describe('a call that is asked again', () => {
  test('is sent as the agent would send it, beside the recorded request, each into a labelled fork', async () => {
    const { store, chat, api, agent, ran, says } = await played()
    const before = await eventsOf(chat)
    const sent = api.requests.length
    says(({ system }) => (JSON.stringify(system).includes('briefly') ? yes : reads('b.ts')))
    const plans: SamplePlan[] = []
    const found = await counterfactual(chat, {
      agent: { ...agent, system: 'You answer briefly.' },
      call: 2,
      samples: 2,
      confirm: (plan) => {
        plans.push(plan)
        return api.requests.length === sent
      },
    })
    expect(
      found.samples.map(({ kind, isSameRequest, isSameCalls }) => [kind, isSameRequest, isSameCalls]),
    ).toEqual([
      ['control', true, true],
      ['control', true, true],
      ['agent', false, false],
      ['agent', false, false],
    ])
    const own = api.requests.slice(sent)
    expect(own.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(own[0]?.body).toEqual(api.requests[1]?.body)
    expect(plans).toMatchObject([{ requests: own.length, isFree: false }])
    const paid = found.samples.reduce((sum, { spent }) => sum + spent.usd, 0)
    expect(plans[0]?.usd).toBeGreaterThanOrEqual(paid)
    expect([await eventsOf(chat), ran]).toEqual([before, []])
    for (const { conversation, kind } of found.samples) {
      const fork = store.conversation(conversation)
      expect(await fork.links()).toMatchObject([
        { relation: 'counterfactual-of', conversation: 'c', position: 4 },
      ])
      expect(await fork.notes()).toMatchObject([
        { kind: 'title', data: `counterfactual (${kind}) of call 2 of c` },
        { kind: 'palimpsest/counterfactual', data: { of: 'c', call: 2, kind } },
      ])
    }
  })

  test('that fails is answered by no worker, not even by one that answers all', async () => {
    const { store, chat, api, agent, says } = await played()
    says(() => yes)
    const refusing = async () => E.left({ _tag: 'ModelFailed' as const, message: 'No.' })
    const client: Model = { call: refusing, countTokens: refusing }
    const { samples } = await counterfactual(chat, { agent: { ...agent, client }, call: 1 })
    expect(new Set(samples.map(({ replies }) => replies))).toEqual(new Set([0]))
    await store.conversation('later').append({ role: 'user', content: 'Is it there?' })
    const ending = new AbortController()
    const answered: string[] = []
    const worker = store.worker({
      answerAll: true,
      slots: 1,
      turn: ({ id }) => {
        answered.push(id)
        return { ...agent, client: new Anthropic({ baseURL: api.url, apiKey: 'key' }) }
      },
    })
    const running = worker.run({ signal: ending.signal })
    atEnd(async () => {
      ending.abort()
      await running
    })
    // What waits longest comes first.
    await expect.poll(async () => (await store.conversation('later').effective()).length).toBe(2)
    expect(answered).toEqual(['later'])
    for (const { conversation } of samples)
      expect((await store.conversation(conversation).effective()).length).toBe(1)
  })

  test('is not sent if nobody agrees, and leaves nothing then', async () => {
    const { store, chat, api, agent } = await played()
    const sent = api.requests.length
    const { samples } = await counterfactual(chat, { agent, call: 1, confirm: () => false })
    const ids = []
    for await (const { id } of store.conversations()) ids.push(id)
    expect([samples, api.requests.length, ids]).toEqual([[], sent, ['c']])
  })

  test('has the same request where the agent has not changed, and again under names of its own', async () => {
    const { chat, agent, says } = await played()
    says(() => reads('b.ts'))
    const forks = new Set<string>()
    for (let time = 0; time < 2; time++) {
      const { samples } = await counterfactual(chat, { agent, call: 2, samples: 1 })
      expect(samples.map(({ isSameRequest }) => isSameRequest)).toEqual([true, true])
      for (const { conversation } of samples) forks.add(conversation)
    }
    expect(forks.size).toBe(4)
  })

  test('whose request the API refuses says so, in its sample', async () => {
    const { chat, agent } = await played()
    const { samples } = await counterfactual(chat, {
      agent: { ...agent, model: 'no-such-model' },
      call: 2,
      samples: 1,
    })
    expect(samples).toMatchObject([
      { kind: 'control', ended: 'waiting' },
      { kind: 'agent', ended: 'ModelFailed', content: [], isSameCalls: false, replies: 0 },
    ])
  })

  test.each([
    ['a call that there is not', { call: 9 }, 'CallOutOfRange'],
    ['no samples', { call: 1, samples: 0 }, 'InvalidInput'],
    ['an agent without a client', { call: 1, agent: { model: 'm' } }, 'InvalidInput'],
  ])('refuses %s', async (_, options, tag) => {
    const { chat, agent } = await played()
    await expect(counterfactual(chat, { agent, ...options })).rejects.toMatchObject({ _tag: tag })
  })
})

describe('a free run', () => {
  test('continues on recorded results where the inputs are equal, errors included, without running a tool', async () => {
    const { chat, agent, ran } = await played()
    const { samples } = await counterfactual(chat, { agent, call: 1, free: true })
    expect(samples).toMatchObject([
      { kind: 'free', isSameRequest: true, isSameCalls: true, ended: 'stop', replies: 3 },
    ])
    expect(ran).toEqual([])
  })

  test('leaves the tools as they are configured where the agent gives none, and answers for them', async () => {
    const { chat, agent } = await played()
    const { tools: _, run: __, ...rest } = agent
    const { samples } = await counterfactual(chat, { agent: rest, call: 1, free: true })
    expect(samples).toMatchObject([{ isSameRequest: true, ended: 'stop', replies: 3 }])
  })

  test('stops at a call that the log has no result for, and names it; a result is served once', async () => {
    const { chat, agent, ran, says } = await played()
    for (const path of ['c.ts', 'a.ts']) {
      says((body) => (lastIn(body).includes('text of a.ts') ? reads(path) : reads('a.ts')))
      const { samples } = await counterfactual(chat, { agent, call: 1, free: true })
      expect(samples).toMatchObject([
        { ended: 'waiting', replies: 2, waiting: [{ tool: 'read', input: { path } }] },
      ])
    }
    expect(ran).toEqual([])
  })

  test('runs the tools of the agent for such calls, if it is told to', async () => {
    const { chat, agent, ran, says } = await played()
    says((body) =>
      lastIn(body).includes('text of a.ts')
        ? reads('c.ts')
        : lastIn(body).includes('text of c.ts')
          ? yes
          : reads('a.ts'),
    )
    const { samples } = await counterfactual(chat, { agent, call: 1, free: true, runTools: true })
    expect(samples).toMatchObject([{ ended: 'stop', replies: 3 }])
    expect(ran).toEqual(['c.ts'])
  })
})

const agentAt = (url: string): string => `import Anthropic from '${import.meta.resolve('@anthropic-ai/sdk')}'
export default () => ({
  client: new Anthropic({ baseURL: '${url}', apiKey: 'key' }),
  model: 'claude-opus-5-5',
  system: 'You answer briefly.',
  tools: [{ name: 'read', input_schema: { type: 'object' } }],
})`

test('replay --call says what it would send, sends nothing without a yes, and prints a line for each sample', () =>
  inDirectory(async (directory) => {
    const { store, api, says } = await played(`sqlite:${join(directory, 'palimpsest.db')}`)
    await store.close()
    writeFileSync(join(directory, 'agent.ts'), agentAt(api.url))
    const replayed = (more: string) => shell(`palimpsest replay c --agent agent.ts ${more}`, directory)
    const sent = api.requests.length
    expect(await replayed('--call 2')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^to send: 6 requests, about .* tokens of input and .* of output, \d\.\d{4} USD at most\nerror: nothing was sent: give --yes\n$/,
      ),
    })
    expect(api.requests.length).toBe(sent)
    says(({ system }) => (JSON.stringify(system).includes('briefly') ? yes : reads('b.ts')))
    const { code, stdout, stderr } = await replayed('--call 2 --samples 1 --yes')
    expect([code, stdout.split('\n').map((line) => line.split('\t').toSpliced(5, 3))]).toEqual([
      0,
      [
        ['control', 'c.call-2-control-1', 'same', 'same', 'waiting', 'read()'],
        ['agent', 'c.call-2-agent-1', 'other', 'other', 'stop', 'Yes.'],
        [''],
      ],
    ])
    expect(stderr).toContain('control: 1 of 1 make the recorded calls\nagent: 0 of 1 make')
    expect(api.requests.length).toBe(sent + 2)
    expect(await shell('palimpsest replay c --call 2', directory)).toMatchObject({ code: 2 })
    expect(await replayed('--free')).toMatchObject({ code: 2 })
  }))

test('replay --call asks at a terminal, and takes nothing but a yes for one', () =>
  inDirectory(async (directory) => {
    const url = `sqlite:${join(directory, 'palimpsest.db')}`
    const { store, api } = await played(url)
    await store.close()
    const file = join(directory, 'agent.ts')
    writeFileSync(file, agentAt(api.url))
    const sent = api.requests.length
    for (const [answer, requests] of [
      ['', 0],
      ['no', 0],
      ['y', 2],
    ] as const) {
      const written = { out: '', err: '' }
      const into = (name: 'out' | 'err') =>
        new Writable({ write: (chunk: Buffer, _, done) => ((written[name] += chunk.toString()), done()) })
      const code = await run(
        ['--store', url, 'replay', 'c', '--agent', file, '--call', '2', '--samples', '1'],
        {
          stdin: Object.assign(Readable.from([`${answer}\n`]), { isTTY: true }),
          stdout: into('out'),
          stderr: into('err'),
          env: {},
        },
      )
      expect([code, api.requests.length - sent, written.out !== '']).toEqual([0, requests, requests > 0])
      expect(written.err).toMatch(/^to send: 2 requests.*\nSend\? \[y\/N\] /)
    }
  }))
