import * as fc from 'fast-check'
import { join } from 'node:path'
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { cost } from '../../src/investigate/index.ts'
import type { Link } from '../../src/projections/notes.ts'
import { costOfAll } from '../../src/investigate/cost-report.ts'
import { childrenIn } from '../../src/investigate/family.ts'
import { paidCallsIn } from '../../src/investigate/paid-calls.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { eventAt, said, toolUse } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { scene, yes } from '../support/turn-scene.ts'
import { prices } from '../../src/agent/models/prices.ts'

const opened = async (): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  return store
}
const usage = (input: number, output: number) => ({ input_tokens: input, output_tokens: output })
const reply = (model: string | undefined, more: object = {}) => ({
  role: 'assistant' as const,
  content: 'Yes.',
  origin: { ...(model !== undefined && { model }), ...more },
})
const begun = async (store: Store, id: string, ...replies: readonly object[]) => {
  const chat = store.conversation(id)
  await chat.append({ role: 'user', content: 'Is it there?' })
  for (const each of replies) await chat.append(each as ReturnType<typeof reply>)
  return chat
}

/** A store of `a` and its subagents `b` and `c`, in which the first event of a stream cannot be read. @returns its file */
const withTorn = async (directory: string, stream: string): Promise<string> => {
  const file = join(directory, 'palimpsest.db')
  const store = await openStore(`sqlite:${file}`)
  for (const [id, above] of [['a'], ['b', 'a'], ['c', 'a']] as const) {
    const chat = await begun(store, id, reply('claude-opus-5-5', { usage: usage(10, 2) }))
    if (above) await chat.link({ relation: 'subagent-of', conversation: above })
  }
  await store.close()
  const database = new DatabaseSync(file)
  database
    .prepare(
      `UPDATE events SET data = '{}' WHERE stream = (SELECT id FROM streams WHERE name = ?) AND revision = 0`,
    )
    .run(stream)
  database.close()
  return file
}

describe('cost', () => {
  test('is what the API billed, abandoned branches included, shared among the tools that were called', async () => {
    const run = { read: () => 'its content', list: () => 'a, b' }
    const tools = Object.keys(run).map((name) => ({ name, input_schema: { type: 'object' } }))
    const calls = [
      { ...toolUse('r1'), name: 'read' },
      { ...toolUse('r2'), name: 'list' },
    ]
    const { chat, turn, api } = await scene([
      { content: calls, usage: { input_tokens: 101, output_tokens: 7 } },
      yes,
      yes,
    ])
    await turn({ tools, run })
    await chat.rewind({ turns: 1 })
    await chat.append({ role: 'user', content: 'And there?' })
    await turn()
    const found = await cost(
      { conversation: () => chat, conversations: async function* () {} },
      { conversation: 'c' },
    )
    const answers = api.requests.map(
      ({ answer }) => (answer as { readonly usage?: Readonly<Record<string, number>> }).usage ?? {},
    )
    const sum = (field: string): number => answers.reduce((total, each) => total + (each[field] ?? 0), 0)
    expect(found.total).toMatchObject({
      calls: 3,
      input: sum('input_tokens'),
      cacheRead: sum('cache_read_input_tokens'),
      cacheWrite: sum('cache_creation_input_tokens'),
      output: sum('output_tokens'),
      unpriced: 0,
      uncounted: 0,
    })
    expect(found.total.usd).toBeGreaterThan(0)
    expect(found.tools.map(({ tool, uses, input, output }) => [tool, uses, input, output])).toEqual([
      [undefined, 0, sum('input_tokens') - 101, sum('output_tokens') - 7],
      ['read', 1, 51, 4],
      ['list', 1, 50, 3],
    ])
  })

  test('says what has no price and what has no usage, and counts neither as nothing', async () => {
    const store = await opened()
    await begun(
      store,
      'c',
      reply('claude-opus-5-5', { usage: usage(1_000_000, 0) }),
      reply('home-made', { usage: usage(5, 5) }),
    )
    await store.conversation('c').append(reply('claude-opus-5-5', { requestId: 'r' }))
    await store.conversation('c').append(reply('claude-opus-5-5', { usage: usage(0, 0) }))
    // Broken off before anything was counted, of a model without a price.
    await store.conversation('c').append(reply('gpt-5.1-codex', { usage: usage(0, 0) }))
    // What a program says by itself, as Claude Code does, costs nothing.
    await store.conversation('c').append(reply('<synthetic>', { usage: usage(0, 0) }))
    const { total, models } = await cost(store, { conversation: 'c' })
    expect(total).toMatchObject({ calls: 6, usd: 4, unpriced: 1, uncounted: 3, input: 1_000_005 })
    expect(models.map(({ model, unpriced, uncounted }) => [model, unpriced, uncounted])).toEqual([
      ['claude-opus-5-5', 0, 2],
      ['home-made', 1, 0],
      ['gpt-5.1-codex', 0, 1],
      ['<synthetic>', 0, 0],
    ])
    const rates = { input: 1, output: 1, cacheRead: 1, cacheWrite5m: 1, cacheWrite1h: 1 }
    const priced = await cost(store, { conversation: 'c', prices: { 'home-made': rates } })
    expect(priced.total).toMatchObject({ usd: 4.00001, unpriced: 0 })
    await expect(
      cost(store, { conversation: 'c', prices: { 'home-made': {} } } as never),
    ).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
    await expect(cost(store, { conversation: 'd' })).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
  })

  test('applies the prices of batches, web searches and places, and names what has none', async () => {
    const store = await opened()
    const million = usage(1_000_000, 0)
    const termed = (terms: object, model = 'claude-opus-5-5') =>
      reply(model, { usage: { ...million, ...terms } })
    const costOf = async (id: string, ...replies: readonly object[]) => {
      await begun(store, id, ...replies)
      return (await cost(store, { conversation: id })).total
    }
    const searched = { server_tool_use: { web_search_requests: 3, web_fetch_requests: 9 } }
    const usualTerms = { service_tier: 'standard', speed: 'standard', inference_geo: 'not_available' }
    for (const [index, [terms, usd]] of (
      [
        [usualTerms, 4],
        [{ service_tier: 'batch' }, 2],
        [{ inference_geo: 'us' }, 4.4],
        [searched, 4.03],
        [{ service_tier: 'batch', inference_geo: 'us', ...searched }, 2.23],
      ] as const
    ).entries()) {
      const total = await costOf(`priced-${index}`, termed(terms))
      expect(total).toMatchObject({ unpriced: 0, understated: 0, lacks: {} })
      expect(total.usd).toBeCloseTo(usd, 9)
    }
    // More than the standard price, but nobody knows how much.
    expect(
      await costOf(
        'lower',
        termed({ speed: 'fast' }),
        termed({ speed: 'fast', inference_geo: 'mars' }),
        termed({ server_tool_use: { code_execution_requests: 1 } }),
      ),
    ).toMatchObject({
      usd: 12,
      unpriced: 0,
      understated: 3,
      lacks: { 'speed: fast': 2, 'inference_geo: mars': 1, code_execution_requests: 1 },
    })
    // It may be more or less.
    expect(await costOf('tier', termed({ service_tier: 'priority' }), termed({}))).toMatchObject({
      usd: 4,
      input: 2_000_000,
      unpriced: 1,
      understated: 0,
      lacks: { 'service_tier: priority': 1 },
    })
  })

  test('counts the replies of an imported chat that records nothing of its calls, and a short output', () =>
    inDirectory(async (directory) => {
      const chat = [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: 'Bye' },
        { role: 'assistant', content: 'Bye.' },
      ]
      writeFileSync(join(directory, 'chat.json'), JSON.stringify(chat))
      const line = (index: number, output: number, text: string) => ({
        sessionId: 's',
        uuid: `u${index}`,
        parentUuid: index === 0 ? null : `u${index - 1}`,
        type: 'assistant',
        timestamp: `2026-01-01T10:00:0${index}.000Z`,
        message: {
          id: `m${index}`,
          role: 'assistant',
          model: 'claude-opus-5-5',
          content: [{ type: 'text', text }],
          stop_reason: null,
          usage: { ...usage(10, output), speed: 'fast' },
        },
      })
      const lines = [
        line(0, 3, 'A long answer, word for word. '.repeat(20)),
        line(1, 140, 'A long answer, word for word. '.repeat(20)),
        line(2, 1, 'Yes.'),
      ]
      writeFileSync(join(directory, 's.jsonl'), lines.map((each) => JSON.stringify(each)).join('\n'))
      await shell('palimpsest import chat.json s.jsonl', directory)
      const { stdout, stderr } = await shell('palimpsest cost --all', directory)
      expect(stdout).toMatch(/^openai-\w+\t2\t0\t0\t0\t0\t≥ 0\.0000\t≥ 0\.0000$/m)
      expect(stdout).toMatch(/^s\t3\t30\t0\t0\t144\t≥ 0\.0030\t≥ 0\.0030$/m)
      expect(stderr).toBe(
        [
          '3 calls with speed: fast: the price is unknown',
          '1 call with fewer output tokens recorded than the reply has: the true cost is higher',
          '2 calls without recorded usage: not included in the sums\n',
        ].join('\n'),
      )
    }))

  test('of a fork is what it asked itself; what it inherited counts for its parent', async () => {
    const store = await opened()
    const parent = await begun(store, 'c', reply('claude-opus-5-5', { usage: usage(10, 1) }))
    const fork = await parent.fork('d')
    await fork.append(reply('claude-opus-5-5', { usage: usage(20, 2) }))
    const { conversations, total } = await cost(store)
    expect(total).toMatchObject({ calls: 2, input: 30 })
    expect(conversations.find(({ id }) => id === 'd')).toMatchObject({ own: { input: 20 }, inherited: 1 })
  })

  test('counts a reply once that an import stored in parts, and a call once that two conversations have', async () => {
    const parts = [usage(10, 3), usage(10, 8)].map((counted, index) =>
      eventAt(
        said('assistant', [toolUse(`c${index}`)], { model: 'm', requestId: 'r', usage: counted }),
        index,
      ),
    )
    const paid = await paidCallsIn(
      (async function* () {
        yield* parts
      })(),
    )
    expect(paid.calls).toMatchObject([{ counts: { input: 10, output: 8 }, tools: ['run', 'run'] }])
    const both = costOfAll(
      ['a', 'b'].map((id) => ({ id, paid })),
      new Map(),
      prices,
    )
    expect(both.total).toMatchObject({ calls: 1, output: 8 })
    expect(both.conversations.map(({ repeated }) => repeated)).toEqual([0, 1])
  })

  describe('counts a call once, however many files hold it:', () => {
    const file = (lines: readonly object[]): string => lines.map((line) => JSON.stringify(line)).join('\n')
    const costOf = async (...files: readonly (readonly object[])[]) => {
      const store = await opened()
      for (const [index, lines] of files.entries())
        await store.importSession({ text: file(lines), file: `${index}.jsonl` })
      return cost(store)
    }
    const time = (index: number): string => new Date(Date.UTC(2026, 0, 1, 10, 0, index)).toISOString()
    /** A session of Claude Code: each step is what the user says, or a reply by `[message id, usage, blocks]`. */
    type Step = string | readonly [id: string, usage: ReturnType<typeof usage>, ...blocks: readonly object[]]
    const claude = (sessionId: string, steps: readonly Step[], more: object = {}): readonly object[] =>
      steps.map((step, index) => {
        const role = typeof step === 'string' ? 'user' : 'assistant'
        const base = {
          sessionId,
          parentUuid: index === 0 ? null : `u${index - 1}`,
          uuid: `u${index}`,
          type: role,
        }
        if (typeof step === 'string')
          return { ...base, timestamp: time(index), message: { role, content: step } }
        const [id, counted, ...content] = step
        return {
          ...base,
          timestamp: time(index),
          message: { id, role, model: 'claude-opus-5-5', content, usage: counted },
          ...more,
        }
      })
    const text = (of: string) => ({ type: 'text', text: of })
    const steps: readonly Step[] = [
      'One?',
      ['m1', usage(10, 2), text('One.')],
      'Two?',
      ['m2', usage(20, 4), text('Two.')],
      'Three?',
      ['m3', usage(30, 6), text('Three.')],
    ]

    test('a branch of pi, under a new header', async () => {
      const lines = readFileSync('test/samples/pi/before-compaction.jsonl', 'utf8').trim().split('\n')
      const [header, ...rest] = lines.map((line) => JSON.parse(line) as { readonly id?: string })
      const { total } = await costOf([{ ...header }, ...rest])
      expect(total.calls).toBeGreaterThan(10)
      const branch = [{ ...header, id: 'branch', branchedFrom: 'elsewhere' }, ...rest.slice(0, -20)]
      const entry = { type: 'custom', customType: 'x', timestamp: time(1) }
      for (const files of [
        [branch],
        [[branch[0], entry, ...branch.slice(1)]],
        [branch, [{ ...header, id: 'third' }, ...rest]],
      ]) {
        const both = await costOf([{ ...header }, ...rest], ...(files as readonly object[][]))
        expect(both.total).toEqual(total)
        expect(both.conversations.at(-1)).toMatchObject({ own: { calls: 0 } })
      }
    })

    test('a session of Claude Code that another file continues, without request ids', async () => {
      const whole = claude('b', steps)
      const found = await costOf(claude('a', steps.slice(0, 4)), whole)
      expect(found.total).toMatchObject({ calls: 3, input: 60, output: 12 })
      expect(found.conversations.map(({ own, repeated }) => [own.calls, repeated])).toEqual([
        [2, 0],
        [1, 2],
      ])
      // Written down at another time, and with the reply cut off whose beginning another file has.
      const later = whole.map((line) => ({ ...line, timestamp: '2026-02-02T10:00:00.000Z' }))
      expect((await costOf(whole, later)).total).toMatchObject({ calls: 3, input: 60 })
      const torn = claude('c', [...steps.slice(0, 3), ['m2', usage(20, 1), text('Tw')]])
      expect((await costOf(torn, whole)).total).toMatchObject({ calls: 3, output: 12 })
    })

    test('a reply that an import stored again, as the file has more of it now', async () => {
      const [question, id] = ['Which?', 'm1']
      const part = claude('a', [question, [id, usage(10, 2), text('It is')]])
      const whole = claude('a', [
        question,
        [id, usage(10, 2), text('It is')],
        [id, usage(10, 9), text(' this.')],
      ])
      const more = whole.map((line, index) => (index === 2 ? { ...line, parentUuid: 'u1' } : line))
      const { total } = await costOf(part, more)
      expect(total).toMatchObject({ calls: 1, input: 10, output: 9 })
    })

    test('but each call of a router that gives all replies the same id', async () => {
      const constant = steps.map((step): Step =>
        typeof step === 'string' ? step : ['m', usage(5, 1), step[2] ?? {}],
      )
      expect((await costOf(claude('a', constant), claude('b', constant))).total).toMatchObject({
        calls: 3,
        output: 3,
      })
    })

    test('but each of two that are alike, if they were made at different times', async () => {
      const store = await opened()
      for (const id of ['a', 'b']) await begun(store, id, reply('claude-opus-5-5', { usage: usage(10, 2) }))
      expect((await cost(store)).total).toMatchObject({ calls: 2 })
      const pi = (id: string, second: number) => [
        { type: 'session', id, timestamp: time(0) },
        { type: 'message', timestamp: time(second), message: { role: 'user', content: 'Hi' } },
        {
          type: 'message',
          timestamp: time(second + 1),
          message: {
            role: 'assistant',
            content: [text('Hi.')],
            model: 'claude-opus-5-5',
            usage: { input: 1, output: 1 },
          },
        },
      ]
      expect((await costOf(pi('x', 1), pi('y', 10), pi('z', 1))).total).toMatchObject({ calls: 2 })
    })

    test('a reply in parts without request ids, of which the last has the whole usage', async () => {
      const parts = [3, 8].map((output, index) => {
        const { type, data } = said('assistant', [toolUse(`c${index}`)], {
          model: 'm',
          usage: usage(10, output),
        })
        return eventAt({ type, data: { ...data, messageId: 'msg' } }, index)
      })
      const paid = await paidCallsIn(
        (async function* () {
          yield* parts
        })(),
      )
      expect(paid.calls).toMatchObject([{ counts: { input: 10, output: 8 }, tools: ['run', 'run'] }])
    })
  })

  test('of a conversation includes its subagents and theirs, each once, however links lead to them', () => {
    const size = 6
    const node = fc.nat({ max: size - 1 })
    const link = fc.record({
      from: node,
      to: node,
      relation: fc.constantFrom('subagent-of', 'subagent-of', 'continues'),
    })
    const call = fc.record({
      model: fc.constantFrom('claude-opus-5-5', 'claude-haiku-4-5', 'home-made', undefined),
      input: fc.nat(9_999),
      output: fc.nat(999),
      tools: fc.array(fc.constantFrom('read', 'run'), { maxLength: 4 }),
      day: fc.constantFrom('2026-01-01', '2026-01-02'),
    })
    fc.assert(
      fc.property(
        fc.array(fc.array(call, { maxLength: 4 }), { minLength: size, maxLength: size }),
        fc.array(link, { maxLength: 14 }),
        (calls, links) => {
          const accounts = calls.map((own, id) => ({
            id: String(id),
            paid: {
              inherited: 0,
              calls: own.map(({ model, input, output, tools, day }, position) => ({
                kind: 'reply' as const,
                position,
                time: `${day}T10:00:00.000Z`,
                calls: 1,
                model,
                tools,
                counts: { input, output, cacheRead: 3, cacheWrite: 2, cacheWrite1h: 1 },
              })),
            },
          }))
          const named = links.map(
            ({ from, to, relation }) => ({ relation, from: String(from), conversation: String(to) }) as Link,
          )
          const found = costOfAll(accounts, childrenIn(named), prices)
          // By links alone, as often as there are conversations: whoever is reached by then is reached at all.
          const reached = (id: string): ReadonlySet<string> => {
            const all = new Set([id])
            for (let round = 0; round < size; round++)
              for (const { from, conversation, relation } of named)
                if (relation === 'subagent-of' && all.has(conversation ?? '')) all.add(from)
            return all
          }
          const output = (id: string): number =>
            (calls[Number(id)] ?? []).reduce((sum, one) => sum + one.output, 0)
          for (const { id, own, total } of found.conversations) {
            expect(own.output).toBe(output(id))
            expect(total.output).toBe([...reached(id)].reduce((sum, each) => sum + output(each), 0))
          }
          for (const parts of [
            found.models,
            found.days,
            found.tools,
            found.conversations.map(({ own }) => own),
          ])
            for (const field of ['input', 'output', 'cacheRead', 'cacheWrite', 'usd'] as const)
              expect(parts.reduce((sum, part) => sum + part[field], 0)).toBeCloseTo(found.total[field], 9)
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('of a conversation names a subagent that cannot be read, and counts the rest', () =>
    inDirectory(async (directory) => {
      const file = await withTorn(directory, 'conversation-b')
      const torn = await openStore(`sqlite:${file}`)
      const found = await cost(torn, { conversation: 'a' })
      await torn.close()
      expect(found.problems).toMatchObject([{ id: 'b' }])
      expect(found.conversations.map(({ id }) => id)).toEqual(['a', 'c'])
      expect(found.total).toMatchObject({ calls: 2, input: 20 })
    }))

  test('says which subagents are linked but not in the store, and that the amounts lack them', () =>
    inDirectory(async (directory) => {
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      const above = await begun(store, 'a', reply('claude-opus-5-5', { usage: usage(10, 2) }))
      const below = await begun(store, 'b', reply('claude-opus-5-5', { usage: usage(10, 2) }))
      await below.link({ relation: 'subagent-of', conversation: 'a' })
      for (const conversation of ['b', 'gone']) await above.link({ relation: 'has-subagent', conversation })
      await below.link({ relation: 'has-subagent', conversation: 'gone-too' })
      await store.close()
      for (const id of ['a', '']) {
        const { stdout, stderr } = await shell(`palimpsest cost ${id}`, directory)
        expect(stdout.trim().split('\n')).toEqual([
          expect.stringMatching(/^a\t.*\t\d\S*\t≥ \d\S*$/),
          expect.stringMatching(/^b\t.*\t\d\S*\t≥ \d\S*$/),
          expect.stringMatching(/^total\t.*\t≥ \S+\t≥ \S+$/),
        ])
        expect(stderr).toBe('2 subagents are not in this store: not included in the sums\n')
        const { stdout: json } = await shell(`palimpsest cost ${id} --json`, directory)
        const { conversations } = JSON.parse(json) as Awaited<ReturnType<typeof cost>>
        expect(new Map(conversations.map((each) => [each.id, each.missing]))).toEqual(
          new Map([
            ['a', ['gone', 'gone-too']],
            ['b', ['gone-too']],
          ]),
        )
      }
    }))

  test('says of each tool which replies cost more than is counted', async () => {
    const store = await opened()
    const chat = store.conversation('a')
    await chat.append({ role: 'user', content: 'Is it there?' })
    const calls = ['read', 'read', 'list'].map((name, n) => ({ ...toolUse(`r${n}`), name }))
    await chat.append({ ...reply('unknown', { usage: usage(10, 8) }), content: calls })
    const { tools } = await cost(store)
    for (const [tool, uses] of [
      ['read', 2],
      ['list', 1],
    ] as const)
      expect(tools.find((each) => each.tool === tool)).toMatchObject({
        uses,
        calls: 1,
        unpriced: 1,
        lacks: { 'price of unknown': 1 },
      })
  })

  test('says of which subagents nobody knows, as their notes cannot be read', () =>
    inDirectory(async (directory) => {
      await withTorn(directory, 'notes-b')
      const { stdout, stderr } = await shell('palimpsest cost a', directory)
      expect(stdout).toMatch(/^total\t2\t20\t/m)
      expect(stderr).toMatch(/^not counted: b: its notes do not show whether it is a subagent: .+\n$/)
    }))

  test('is printed by conversation, model, day and tool, with what is missing', () =>
    inDirectory(async (directory) => {
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      const priced = reply('claude-opus-5-5', { usage: usage(1_000, 100) })
      await begun(store, 'task', priced, reply('home-made', { usage: usage(7, 7) }))
      const sub = await begun(store, 'task:sub', priced)
      await sub.link({ relation: 'subagent-of', conversation: 'task' })
      await store.close()
      expect(await shell('palimpsest cost task', directory)).toEqual({
        stdout: [
          'task\t2\t1007\t0\t0\t107\t≥ 0.0060\t≥ 0.0120',
          'task:sub\t1\t1000\t0\t0\t100\t0.0060\t0.0060',
          'total\t3\t2007\t0\t0\t207\t≥ 0.0120\t≥ 0.0120\n',
        ].join('\n'),
        stderr:
          '1 call without a price (home-made): give one with --prices FILE, which has {"home-made": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite5m": 6.25, "cacheWrite1h": 10}}\n',
        code: 0,
      })
      expect((await shell('palimpsest cost --all --by model', directory)).stdout).toBe(
        'claude-opus-5-5\t2\t2000\t0\t0\t200\t0.0120\nhome-made\t1\t7\t0\t0\t7\t≥ 0.0000\ntotal\t3\t2007\t0\t0\t207\t≥ 0.0120\n',
      )
      writeFileSync(join(directory, 'prices.json'), '{"home-made":{"input":0,"cacheRead":"0","outptu":0}}')
      const wrong = await shell('palimpsest cost task --prices prices.json', directory)
      expect(wrong).toMatchObject({ stdout: '', code: 1 })
      const missing = ['output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'].map(
        (field) => `home-made.${field} is missing or has another type`,
      )
      expect(wrong.stderr).toContain(`: ${missing.join(', ')}, home-made.outptu is unknown\n`)
      writeFileSync(
        join(directory, 'prices.json'),
        '{"home-made":{"input":0,"output":0,"cacheRead":0,"cacheWrite5m":0,"cacheWrite1h":0}}',
      )
      expect(
        JSON.parse((await shell('palimpsest cost task --prices prices.json --json', directory)).stdout),
      ).toMatchObject({ total: { unpriced: 0 } })
      expect(await shell('palimpsest cost --by model', directory)).toEqual(
        await shell('palimpsest cost --all --by model', directory),
      )
      expect(await shell('palimpsest cost task --all', directory)).toMatchObject({ code: 2 })
    }))
})
