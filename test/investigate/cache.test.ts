import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import type { Fields } from '../../src/events/json.ts'
import { canonicalText } from '../../src/investigate/canonical.ts'
import { cache } from '../../src/investigate/index.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { numbers } from '../support/investigate/numbers.ts'
import { player } from '../support/investigate/player.ts'
import { runs } from '../support/runs.ts'

const tool = (name: string) => ({
  name,
  description: `Does ${name}. ${'It says at length what it does and when to use it. '.repeat(20)}`,
  input_schema: { type: 'object' },
})
const system = (edition: number) =>
  `Edition ${edition}. ${'Answer in a few words, and never guess. '.repeat(140)}`

const promptKinds = ['system', 'tools', 'tools-reordered', 'model', 'parameters'] as const
const historyKinds = ['edit', 'condense', 'truncate', 'restore', 'rewind'] as const
const otherKinds = ['repair', 'no-breakpoints', 'expired'] as const
type Kind = (typeof promptKinds | typeof historyKinds | typeof otherKinds)[number]

/** Where the second of two requests begins to differ, in the order of the prompt cache. */
const pathBetween = (before: Fields = {}, after: Fields = {}): string | undefined => {
  const [old, now] = [before, after].map(({ tools, system: prompt, messages }) =>
    [
      ...((tools ?? []) as Fields[]).map((one, n) => [`tools[${n}]`, one] as const),
      ...(typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : ((prompt ?? []) as Fields[])).map(
        (one, n) => [`system[${n}]`, one] as const,
      ),
      ...((messages ?? []) as { role: string; content: Fields[] }[]).flatMap(({ role, content }, m) =>
        content.map((block, n) => [`messages[${m}].content[${n}]`, { role, ...block }] as const),
      ),
    ].map(([path, part]) => ({ path, text: canonicalText({ ...part, cache_control: undefined }) })),
  ) as [{ path: string; text: string }[], { path: string; text: string }[]]
  const index = old.findIndex(({ text }, n) => text !== now[n]?.text)
  return index < 0 ? undefined : (now[index] ?? old[index])?.path
}

/** Turns with one break of a kind at most, in a random order: what was done before which reply. */
const played = async (kinds: readonly Kind[], turns: number, each: number, seed: number) => {
  const next = numbers(seed)
  const plan: (Kind | undefined)[] = kinds.flatMap((kind) => Array.from({ length: each }, () => kind))
  while (plan.length < turns) plan.push(undefined)
  for (let index = plan.length - 1; index > 0; index--) {
    const other = next(index + 1)
    ;[plan[index], plan[other]] = [plan[other], plan[index]]
  }
  const { chat, at, wait, turn, replyTo, rendering, bodies } = await player()
  let edition = 1
  let tools = ['read', 'write', 'list'].map(tool)
  let model = 'claude-opus-5-5'
  let budget = 1_024
  let isSystemSaid = false
  const configure = () => {
    const parameters = { thinking: { type: 'enabled', budget_tokens: budget } }
    return chat.configure({ system: system(edition), tools, model, parameters, ...at() })
  }
  await configure()
  for (let n = 0; n < 6; n++) await turn()
  const done: {
    readonly kind: Kind
    readonly event?: number | undefined
    readonly path?: string | undefined
    readonly position: number
  }[] = []
  /** What happens before a reply, and the reply. */
  const broken = async (kind: Kind, event: number | undefined): Promise<void> => {
    await turn()
    const [before, after] = bodies.slice(-2)
    const path = kind === 'model' ? undefined : pathBetween(before, after)
    done.push({ kind, event, path, position: await chat.position() })
  }
  const act = async (kind: Kind): Promise<number | undefined> => {
    const shown = await chat.effective()
    const users = shown.filter((item) => item.kind === 'message' && item.role === 'user')
    const place = users[next(users.length - 2)]?.position ?? 0
    switch (kind) {
      case 'system':
        edition++
        return (await configure()).position
      case 'tools':
        tools = tools.map((one, index) => (index === 1 ? tool(`write_${edition++}`) : one))
        return (await configure()).position
      case 'tools-reordered':
        tools = [...tools.slice(1), ...tools.slice(0, 1)]
        return (await configure()).position
      case 'model':
        model = model === 'claude-opus-5-5' ? 'claude-sonnet-5-5' : 'claude-opus-5-5'
        return (await configure()).position
      case 'parameters':
        budget++
        return (await configure()).position
      case 'repair':
        isSystemSaid = !isSystemSaid
        rendering({ systemMessages: isSystemSaid })
        return undefined
      case 'no-breakpoints':
        rendering({ cache: undefined })
        return undefined
      case 'restore': {
        const marker = shown.findLast((item) => item.kind !== 'message')?.position
        return (await chat.restore({ marker: marker ?? 0, ...at() })).position
      }
      case 'edit': {
        const summary = [{ role: 'user' as const, content: 'Question [cleared].' }]
        return (
          await chat.condense({ covers: { first: place, last: place }, summary, method: 'client', ...at() })
        ).position
      }
      case 'condense':
        return (
          await chat.condense({
            summary: `They talked, part ${edition++}.`,
            keepFirst: 1,
            keepLast: 3,
            ...at(),
          })
        ).position
      case 'truncate':
        return (await chat.truncate({ keepFirst: 2, keepLast: 3, ...at() })).position
      case 'rewind':
        return (await chat.rewind({ turns: 1, ...at() })).position
      case 'expired':
        wait(301)
        return undefined
    }
  }
  for (const kind of plan) {
    // Hiding needs something to hide, and a rewind something to go back to.
    while ((await chat.effective()).length < 9) await turn()
    if (kind === 'restore') {
      await broken('truncate', await act('truncate'))
      // Until the cache has what was truncated no longer.
      for (let n = 0; n < 3; n++) {
        wait(120)
        await turn()
      }
    }
    // What was sent in another form, as if the model did not take it in this one.
    if (kind === 'repair') {
      await chat.append({ role: 'user', content: 'Well?' }, at())
      await chat.append({ role: 'system', content: `Note ${edition++}.` }, at())
      await replyTo()
    }
    if (kind) await broken(kind, await act(kind))
    else await turn()
    rendering({ cache: '5m' })
    // What was not cached cannot be lost.
    if (kind === 'no-breakpoints') await turn()
  }
  return { chat, done }
}

describe('cache', () => {
  test.each([
    ['of configurations and time', [...promptKinds, 'expired']],
    ['of hiding and rendering', [...historyKinds, 'repair', 'no-breakpoints']],
  ] as const)(
    'names every break of 200 turns with twenty of each kind (of fewer where fewer runs are asked for), event and block that did it, and no other: %s',
    async (_, kinds) => {
      const { chat, done } = await played(
        kinds,
        runs(200),
        runs(20),
        Number(process.env['PALIMPSEST_SEED'] ?? 1),
      )
      const { breaks, uncounted, calls, advice } = await cache(chat)
      const named = breaks.map(({ kind, event, path, position }) => ({ kind, event, path, position }))
      expect(named).toEqual(done)
      expect([calls > runs(200), uncounted]).toEqual([true, 0])
      const hiding = done.filter(({ kind }) => kind === 'condense' || kind === 'truncate').length
      expect(advice.filter((words) => words.startsWith('hiding'))).toEqual(
        hiding > 0 ? [expect.stringContaining(`${hiding} times`)] : [],
      )
    },
  )

  test('says what else would have broken a cache that ran out, and what it can only guess', async () => {
    const { chat, at, wait, turn } = await player()
    await chat.configure({ system: system(1), model: 'claude-opus-5-5', ...at() })
    for (let n = 0; n < 4; n++) await turn()
    wait(400)
    await chat.configure({ system: system(2), model: 'claude-opus-5-5', ...at() })
    await turn()
    const [found, ...others] = (await cache(chat)).breaks
    expect(found).toMatchObject({ kind: 'expired', also: 'system', idle: 403 })
    expect(others).toEqual([])
  })

  test('lost is what was cached and not read; what is paid again was sent before, and costs a write in place of a read', async () => {
    const { chat, at, wait, turn } = await player()
    await chat.configure({ system: system(1), model: 'claude-opus-5-5', ...at() })
    await turn()
    const { usage: before } = await turn()
    wait(301)
    const { usage: after } = await turn()
    const {
      breaks: [found],
      read,
      input,
      advice,
    } = await cache(chat)
    const cached = before.cache_read_input_tokens + before.cache_creation_input_tokens
    expect([found?.lost, after.cache_read_input_tokens]).toEqual([cached, 0])
    expect(Math.abs((found?.again ?? 0) / cached - 1)).toBeLessThan(0.1)
    expect(found?.usd).toBeCloseTo(((found?.again ?? 0) * (5 - 0.2)) / 1_000_000, 12)
    expect(read / input).toBeGreaterThan(0.1)
    expect(advice).toEqual([expect.stringContaining('expired once, 1 of them within an hour: cache: "1h"')])
  })

  test('of a fork is of the calls that it made itself; the breaks that it inherited are its parent’s', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const usage = (read: number, written: number) => ({
      input_tokens: 1,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      output_tokens: 1,
    })
    const reply = (read: number, written: number) => ({
      role: 'assistant' as const,
      content: 'Yes.',
      origin: { model: 'claude-opus-5-5', usage: usage(read, written) },
    })
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'Is it there?' })
    await chat.append(reply(0, 100))
    await chat.append(reply(0, 100))
    const fork = await chat.fork('d')
    await fork.append(reply(0, 120))
    expect((await cache(chat)).breaks.map(({ position }) => position)).toEqual([2])
    expect(await cache(fork)).toMatchObject({
      calls: 1,
      inherited: 2,
      input: 121,
      breaks: [{ position: 4, lost: 100 }],
    })
  })

  test('without receipts, the events between the calls tell; a parameter, and what nothing explains, are said too', async () => {
    const { chat, at } = await player()
    const said = async (read: number, written: number): Promise<void> => {
      const usage = {
        input_tokens: 1,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
        output_tokens: 1,
      }
      await chat.append({ role: 'user', content: 'And?' }, at())
      await chat.append(
        { role: 'assistant', content: 'Yes.', origin: { model: 'claude-opus-5-5', usage } },
        at(),
      )
    }
    await chat.configure({ system: 'a', model: 'claude-opus-5-5', ...at() })
    await said(0, 2_000)
    await said(2_000, 10)
    const { position: edit } = await chat.condense({
      covers: { first: 1, last: 2 },
      summary: 'They talked.',
      ...at(),
    })
    await said(1_500, 100)
    const { position: configured } = await chat.configure({
      system: 'a',
      model: 'claude-opus-5-5',
      parameters: { thinking: { type: 'adaptive' } },
      ...at(),
    })
    await said(100, 1_600)
    await said(0, 1_800)
    expect((await cache(chat)).breaks).toMatchObject([
      { kind: 'condense', event: edit, lost: 510 },
      { kind: 'parameters', event: configured, lost: 1_500 },
      { kind: 'unexplained', lost: 1_700 },
    ])
  })

  test('says what the next call costs before it is made: what it reads if it is made now, and nothing once the cache has run out', async () => {
    const { chat, at, wait, turn } = await player()
    await chat.configure({ system: system(1), model: 'claude-opus-5-5', ...at() })
    for (let n = 0; n < 5; n++) {
      await turn()
      const { resuming } = await cache(chat, at())
      const later = await cache(chat, { now: new Date(at().now.getTime() + 300_000) })
      const { usage } = await turn('Now?')
      expect(resuming).toMatchObject({ isWarm: true, cached: usage.cache_read_input_tokens })
      expect(later.resuming?.isWarm).toBe(false)
      expect(later.resuming?.usd).toBe(resuming?.usdCold)
      expect(resuming?.usd).toBeLessThan(resuming?.usdCold ?? 0)
      wait(10)
    }
    const { position } = await chat.condense({ summary: 'They talked.', keepLast: 2, ...at() })
    expect((await cache(chat, at())).resuming).toMatchObject({
      isWarm: false,
      change: 'condense',
      event: position,
    })
  })

  test('names the rewind before a reply without a receipt that nothing was said before', () =>
    inDirectory(async (directory) => {
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      atEnd(store.close)
      const chat = store.conversation('c')
      const reply = (read: number, written: number) => {
        const usage = { input_tokens: 1, cache_read_input_tokens: read, cache_creation_input_tokens: written }
        const origin = { model: 'claude-opus-4-6', usage: { ...usage, output_tokens: 5 } }
        return chat.append({ role: 'assistant', content: 'Yes.', origin })
      }
      await chat.append({ role: 'user', content: 'Is it there?' })
      await reply(0, 2_000)
      await chat.append({ role: 'user', content: 'And there?' })
      await reply(2_000, 500)
      const { position: event } = await chat.rewind({ to: 0 })
      const { position } = await reply(1_800, 0)
      expect((await cache(chat)).breaks).toMatchObject([{ position, kind: 'rewind', event, lost: 700 }])
      expect((await shell('palimpsest cache c', directory)).stdout).toMatch(
        new RegExp(`^${position}\tp${position}\t700\t`),
      )
    }))
})
