import * as fc from 'fast-check'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Conversation, openStore, type TurnOptions } from '../../src/index.ts'
import { countTokens } from '../../src/agent/context/tokens/tokens.ts'
import { cost, replay, why } from '../../src/investigate/index.ts'
import { type SentBefore, simulateCache } from '../../src/investigate/replay-cache.ts'
import { effective } from '../../src/projections/effective.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import type { ApiReply } from '../../src/testing/messages-api/replies.ts'
import { atEnd } from '../support/at-end.ts'
import { strictModel } from '../support/investigate/strict-model.ts'
import { assistant, configured, logOf, rewound, text, toolUse, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'

type Act = 'turn' | 'tools' | 'rewind' | 'condense' | 'truncate' | 'restore'
const acts = fc.constantFrom<Act>(
  'turn',
  'turn',
  'turn',
  'turn',
  'turn',
  'tools',
  'tools',
  'rewind',
  'condense',
  'truncate',
  'restore',
)
const contexts = fc.record({
  window: fc.integer({ min: 1_500, max: 3_500 }),
  reserved: fc.constant(100),
  percentage: fc.constantFrom(50, 80, 100),
  keepFirst: fc.integer({ min: 1, max: 2 }),
  keepLast: fc.integer({ min: 1, max: 4 }),
  target: fc.constantFrom(0.4, 0.7),
})
const words = (n: number): string =>
  `Part ${n} of value_${n % 7}: ${'more of what was said before, and some of what was not. '.repeat(10 + (n % 9))}`

/** A conversation played with the strict stand-in, under a policy for its context. */
const played = async (
  all: readonly Act[],
  context: TurnOptions['context'],
  summarized = true,
  system = 'You answer.',
) => {
  let n = 0
  let wantsTool = false
  const say = (): ApiReply => {
    n++
    if (!wantsTool) return { content: [text(words(n))] }
    wantsTool = false
    return { content: [text('I look.'), { ...toolUse(`t${n}`), name: 'read' }] }
  }
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Is it there?' })
  const client = strictModel({ reply: say })
  const turn = (more: Partial<TurnOptions>) => chat.turn({ client, model: 'claude-opus-5-5', ...more })
  const options: Partial<TurnOptions> = {
    ...(system !== '' && { system, tools: [{ name: 'read', input_schema: { type: 'object' } }] }),
    run: { read: () => `result ${n}: ${'lines of a file '.repeat(20 + (n % 40))}` },
    context,
    summarizer: summarized && (async () => ({ blocks: [text('They talked at length.')] })),
  }
  const attempt = async (act: () => Promise<unknown>): Promise<void> => {
    await act().catch(() => undefined)
  }
  await turn(options)
  for (const act of all) {
    if (act === 'turn' || act === 'tools') {
      wantsTool = act === 'tools'
      await chat.append({ role: 'user', content: `Question ${n}: ${words(n)}` })
      await attempt(() => turn(options))
    } else if (act === 'rewind') await attempt(() => chat.rewind({ turns: 1 }))
    else if (act === 'condense') await attempt(() => chat.condense({ summary: 'By hand.', keepLast: 3 }))
    else if (act === 'truncate') await attempt(() => chat.truncate({ keepLast: 4 }))
    else await attempt(() => restoreNewest(chat))
  }
  return chat
}
const restoreNewest = async (chat: Conversation): Promise<void> => {
  const marker = (await chat.effective()).findLast(({ kind }) => kind !== 'message')
  if (marker) await chat.restore({ marker: marker.position })
}

test('a summary of any size that is asked for takes no memory: what is larger than the context is refused as such', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('c')
  for (let n = 0; n < 8; n++)
    await chat.append([
      { role: 'user', content: 'Hi. '.repeat(400) },
      { role: 'assistant', content: 'Yes. '.repeat(200), origin: { model: 'claude-opus-5-5' } },
    ])
  const totalWith = async (summaryTokens: number) =>
    (await replay(chat, { policy: { context: { window: 2_500, reserved: 100 }, summaryTokens } })).total
  const total = await totalWith(1_000_000_000)
  expect(total).toEqual(await totalWith(100_000))
  expect([total.condensed, total.truncated > 0]).toEqual([0, true])
})

describe('the prompt cache of a replay', () => {
  const log = logOf(
    configured({ system: 'You answer at length. '.repeat(50) }),
    ...Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? user(words(n)) : assistant(words(n)))),
    rewound(4),
    user('Something else.'),
  )
  const ask = (sent: SentBefore, at: number, seconds: number, model = 'claude-opus-5-5'): number => {
    const asked = new Date(Date.UTC(2026, 10, 22) + 1_000 * seconds).toISOString()
    const shown = effective(log, at)
    const call = { position: at + 1, at, parts: [at + 1], origin: { model }, asked, answered: asked }
    return sent(call, shown, countTokens(shown).total)()
  }
  const tokensAt = (at: number): number => countTokens(effective(log, at)).total

  test('has all of the request before, until it runs out', () => {
    const sent = simulateCache()
    expect(ask(sent, 1, 0)).toBe(0)
    expect(ask(sent, 3, 10)).toBe(tokensAt(1))
    expect(ask(sent, 5, 310)).toBe(tokensAt(3))
    expect(ask(sent, 7, 611)).toBe(0)
    expect(ask(simulateCache('1h'), 7, 0)).toBe(0)
  })

  test('has nothing for another model, or another prompt', () => {
    const sent = simulateCache()
    ask(sent, 3, 0)
    expect(ask(sent, 5, 1, 'claude-haiku-5')).toBe(0)
    const other = effective(
      logOf(configured({ system: 'Be brief.' }), ...[1, 2, 3].map((n) => user(words(n)))),
    )
    const call = {
      position: 4,
      at: 3,
      parts: [4],
      origin: { model: 'claude-opus-5-5' },
      asked: '2026-11-22T00:00:02Z',
      answered: '',
    }
    expect(sent(call, other, 1_000)()).toBe(0)
  })

  test('has what a rewind led back to, from before the newest request', () => {
    const sent = simulateCache()
    ask(sent, 1, 0)
    ask(sent, 3, 1)
    ask(sent, 7, 2)
    // Messages 1 to 4 are shown again, of which the request at 7 had all, and that at 3 had three.
    expect(ask(sent, 10, 3)).toBe(tokensAt(4))
  })
})

describe('replay', () => {
  test('of the recorded policy shows every call what the log says it was shown', async () => {
    let [written, named] = [0, 0]
    await fc.assert(
      fc.asyncProperty(
        fc.array(acts, { minLength: 12, maxLength: 26 }),
        contexts,
        fc.boolean(),
        async (all, context, summarized) => {
          const chat = await played(all, context, summarized)
          const { calls, total } = await replay(chat)
          expect(calls.filter(({ isSame }) => !isSame)).toEqual([])
          for (const { call, needed } of calls.slice(-3)) {
            expect(needed).toEqual((await why(chat, { call })).needed)
            named += needed.length
          }
          const log = []
          for await (const event of chat.events()) log.push(event)
          const abandonedToo = log.filter(
            (event) =>
              (event.type === 'Condensed' || event.type === 'Truncated') &&
              event.data.policy?.of === 'context',
          )
          expect(total.condensed + total.truncated + total.edited).toBeLessThanOrEqual(abandonedToo.length)
          // The same settings given as a policy decide the same.
          const mode = summarized ? 'condense' : 'truncate'
          const given = await replay(chat, { policy: { context, mode } })
          expect(given.calls.filter(({ isSame }) => !isSame)).toEqual([])
          written += total.condensed + total.truncated
          expect({ ...given.total, over: 0 }).toEqual({ ...total, over: 0 })
        },
      ),
      { numRuns: runs(40) },
    )
    expect(written).toBeGreaterThan(runs(40))
    expect(named).toBeGreaterThan(0)
  })

  test('of a policy that keeps everything says where the limit would have been passed, and shows each call all', async () => {
    const chat = await played(
      Array.from({ length: 14 }, () => 'turn' as const),
      { window: 3_000, reserved: 100 },
    )
    const recorded = await replay(chat)
    expect(recorded.total.condensed).toBeGreaterThan(0)
    expect(recorded.total.over).toBe(0)
    const kept = await replay(chat, { policy: { context: { window: 3_000, reserved: 100 }, mode: 'keep' } })
    expect(kept.calls.every(({ hidden }) => hidden === 0)).toBe(true)
    const first = recorded.calls.findIndex(({ condensed }) => condensed > 0)
    expect(kept.calls.findIndex(({ isOver }) => isOver)).toBe(first)
    expect(kept.total.tokens).toBeGreaterThan(recorded.total.tokens)
    const larger = await replay(chat, { policy: { context: { window: 200_000 } } })
    expect(larger.total).toMatchObject({ condensed: 0, truncated: 0, over: 0, tokens: kept.total.tokens })
  })

  test('clears the results of tools but the newest, and says what the answers name of them', async () => {
    const chat = await played(['tools', 'tools', 'tools', 'turn'], { window: 100_000 })
    const policy = { context: { window: 100_000 }, clearResults: { keepLast: 1 } }
    const found = await replay(chat, { policy })
    expect(found.total.edited).toBe(2)
    expect(found.total.tokens).toBeLessThan((await replay(chat)).total.tokens)
    await expect(replay(chat, { policy: { context: {} } } as never)).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
  })

  test('predicts what another policy really sends when the same is said under it', async () => {
    const all = Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0 ? 'tools' : 'turn',
    ) as readonly Act[]
    const [small, large] = [
      { window: 3_000, reserved: 100 },
      { window: 6_000, reserved: 100 },
    ]
    const under = await replay(await played(all, small), { policy: { context: large } })
    const real = await replay(await played(all, large))
    expect(Math.abs(under.total.tokens / real.total.tokens - 1)).toBeLessThan(0.2)
    expect(Math.abs(under.total.condensed - real.total.condensed)).toBeLessThanOrEqual(1)
  })

  test('predicts the same of an agent that has neither a system prompt nor tools', async () => {
    const all = Array.from({ length: 30 }, () => 'turn' as const)
    const [small, large] = [
      { window: 3_000, reserved: 100 },
      { window: 100_000, reserved: 100 },
    ]
    const policy = { context: small, summaryTokens: 10 }
    const under = await replay(await played(all, large, true, ''), { policy })
    const real = await replay(await played(all, small, true, ''))
    expect(under.total.over).toBe(0)
    expect(Math.abs(under.total.tokens / real.total.tokens - 1)).toBeLessThan(0.1)
    expect(Math.abs(under.total.condensed - real.total.condensed)).toBeLessThanOrEqual(1)
  })

  test('predicts the same of an import, which has no system prompt, no tools and no receipts', async () => {
    const all = Array.from({ length: 30 }, (_, index) => (index % 3 === 0 ? 'tools' : 'turn'))
    const chat = await played(all, { window: 100_000 }, true, 'You answer at length. '.repeat(600))
    const store = await openStore('memory:')
    atEnd(store.close)
    const imported = store.conversation('imported')
    for await (const { type, data } of chat.events()) {
      if (type !== 'MessageAppended') continue
      const { role, content, origin: { context: _, ...origin } = {} } = data
      await imported.append({ role, content, ...(role === 'assistant' && { origin }) })
    }
    const policy = { context: { window: 8_000, reserved: 100 }, summaryTokens: 100 }
    const [whole, told] = [await replay(chat, { policy }), await replay(imported, { policy })]
    expect(whole.total.condensed).toBeGreaterThan(1)
    expect(told.total.over).toBe(0)
    expect(Math.abs(told.total.condensed - whole.total.condensed)).toBeLessThanOrEqual(1)
    expect(Math.abs(told.total.tokens / whole.total.tokens - 1)).toBeLessThan(0.1)
    expect(Math.abs(told.total.read / whole.total.read - 1)).toBeLessThan(0.1)
  })

  test('of the recorded policy costs what cost says, cents included', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'Is it there?' })
    for (let n = 1; n < 4; n++) {
      const usage = {
        input_tokens: 1_000 * n,
        cache_read_input_tokens: 300 * n,
        cache_creation_input_tokens: 200 * n,
        cache_creation: { ephemeral_1h_input_tokens: 150 * n },
        output_tokens: 10,
      }
      await chat.append({ role: 'assistant', content: 'Yes.', origin: { model: 'claude-opus-5-5', usage } })
      await chat.append({ role: 'user', content: 'And there?' })
    }
    const { total } = await cost(store, { conversation: 'c' })
    const recorded = await replay(chat)
    expect(recorded.total.usd).toBeCloseTo(total.usd, 12)
    // They wrote for an hour: another lifetime is another price.
    const asked = { context: { window: 100_000 }, cache: '1h' } as const
    expect((await replay(chat, { policy: asked })).total.usd).toBeCloseTo(total.usd, 12)
    const shorter = await replay(chat, { policy: { context: { window: 100_000 }, cache: '5m' } })
    expect(shorter.total.tokens).toBe(recorded.total.tokens)
    expect(shorter.total.usd).not.toBeCloseTo(total.usd, 6)
  })

  test('prices what is written to the cache for an hour as that', async () => {
    const chat = await played(['turn', 'turn'], { window: 100_000 })
    const usdOf = async (cache: '5m' | '1h') =>
      (await replay(chat, { policy: { context: { window: 100_000 }, cache } })).total.usd ?? 0
    expect(await usdOf('1h')).toBeGreaterThan(await usdOf('5m'))
  })

  test('refuses a policy whose window has no room for anything, in place of hiding nothing', async () => {
    const chat = await played(['turn'], { window: 100_000 })
    await expect(replay(chat, { policy: { context: { window: 8_000 } } })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'window',
    })
  })

  test('compares policies from files, each a line', () =>
    inDirectory(async (directory) => {
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      atEnd(store.close)
      const chat = await played(['turn', 'turn', 'turn'], { window: 100_000 })
      const copy = store.conversation('c')
      for await (const event of chat.events())
        if (event.type === 'MessageAppended')
          await copy.append({ ...event.data, role: event.data.role, content: [...event.data.content] })
      writeFileSync(
        join(directory, 'small.json'),
        '{"context":{"window":2200,"reserved":100},"mode":"truncate"}',
      )
      const ran = await shell('palimpsest replay c --compare small.json', directory)
      expect(ran).toMatchObject({ code: 0, stderr: '' })
      expect(ran.stdout.split('\n').map((line) => line.split('\t').length)).toEqual([9, 9, 1])
      expect(
        (await shell('palimpsest replay c --policy small.json', directory)).stdout.split('\n'),
      ).toHaveLength(5)
      await copy.truncate({ keepLast: 2 })
      const kept =
        'kept as recorded, under any policy: 1 marker that no policy wrote (imported, or made by hand)\n'
      expect((await shell('palimpsest replay c --policy small.json', directory)).stderr).toBe(kept)
      expect((await replay(copy)).keptMarkers).toBe(1)
      writeFileSync(join(directory, 'wrong.json'), '{"context":{"windows":1}}')
      expect(await shell('palimpsest replay c --policy wrong.json', directory)).toMatchObject({ code: 1 })
    }))
})
