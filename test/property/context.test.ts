import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { ConversationCommand } from '../../src/commands/command.ts'
import { checkCondensed, manageContext, type ContextPlan } from '../../src/agent/context/policy/policy.ts'
import { shortResults } from '../../src/agent/context/policy/plan-shortening.ts'
import type { ContextSettings } from '../../src/agent/context/policy/settings.ts'
import { countTokens } from '../../src/agent/context/tokens/tokens.ts'
import { historyTokens } from '../../src/agent/context/tokens/history.ts'
import type { ConversationEvent } from '../../src/events/events.ts'
import { effective, type Effective, type Item, messageIn } from '../../src/projections/effective.ts'
import { full } from '../../src/projections/full.ts'
import type { Log } from '../../src/projections/path.ts'
import { toolCalls } from '../../src/projections/pairs.ts'
import { apply, histories } from '../support/histories.ts'
import { left, right } from '../support/either.ts'
import { assistant, logOf, text, thinking, toolResult, toolUse, truncated, user } from '../support/log.ts'
import { runs, scale } from '../support/runs.ts'

/** The log with usage in some of its replies: sometimes what it might be, sometimes anything. */
const counted = (log: Log, inputs: readonly number[]): Log =>
  log.map((event, index): ConversationEvent => {
    const input = inputs[index % inputs.length] ?? 0
    if (event.type !== 'MessageAppended' || event.data.role !== 'assistant' || input % 3 === 0) return event
    const usage = { input_tokens: input % 2 === 0 ? input : 20 * index, output_tokens: input % 7 }
    const stopReason = input % 5 === 0 ? null : 'end_turn'
    return { ...event, data: { ...event.data, origin: { ...event.data.origin, stopReason, usage } } }
  })

const logs = fc
  .tuple(histories(), fc.array(fc.nat(600), { minLength: 1, maxLength: 9 }))
  .map(([log, inputs]) => counted(log, inputs))

const settings: fc.Arbitrary<ContextSettings> = fc.record(
  {
    window: fc.integer({ min: 20, max: 800 }),
    reserved: fc.nat(15),
    automatic: fc.boolean(),
    percentage: fc.integer({ min: 5, max: 100 }),
    profiles: fc.constantFrom({ 'some-model': 20 }, { 'some-model': -1 }),
    keepFirst: fc.integer({ min: 1, max: 3 }),
    keepLast: fc.integer({ min: 1, max: 4 }),
    fraction: fc.double({ min: 0.1, max: 1, noNaN: true }),
  },
  { requiredKeys: ['window', 'reserved'] },
)

const commandsOf = (log: Log, plan: ContextPlan, summary: string): readonly ConversationCommand[] => {
  switch (plan.type) {
    case 'nothing':
      return []
    case 'condense':
      return [{ type: 'condense', covers: plan.covers, summary }]
    case 'truncate':
      return plan.covers.map((covers) => ({ type: 'truncate', covers }))
    case 'shorten':
      return plan.edits.map(({ covers, bytes }) => {
        const item = effective(log).items.find(({ position }) => position === covers.first)
        const content = item && shortResults(item, { bytes, rest: 'recorded' })
        return { type: 'condense', covers, summary: [{ role: 'user', content: content ?? [] }] }
      })
  }
}

/** The log once the plan is carried out, by the deciders that a store asks. */
const carriedOut = (log: Log, plan: ContextPlan, summary: string): Log =>
  commandsOf(log, plan, summary).reduce((now, command) => {
    const next = apply(now, command)
    expect(next, 'refused').not.toBe(now)
    return next
  }, log)

const positions = ({ items }: Effective): readonly number[] => items.map(({ position }) => position)

/** What no plan may hide, as it was said or edited: a message at the very beginning, the newest turn of the user, the last item. */
const kept = ({ items }: Effective): readonly number[] => {
  const [first] = items
  const turn = items.findLast((item) => {
    const { role, content = [] } = messageIn(item) ?? {}
    return role === 'user' && (content.length === 0 || content.some(({ type }) => type !== 'tool_result'))
  })
  return [first && messageIn(first) ? first : undefined, turn, items.at(-1)].flatMap((item) =>
    item ? [item.position] : [],
  )
}

/** Messages and summaries that are shown: what a plan makes fewer, or at worst as many, in fewer tokens. */
const weight = ({ items }: Effective): number =>
  items.reduce((sum, { kind }) => sum + (kind === 'message' ? 2 : kind === 'summary' ? 1 : 0), 0)

describe('managing any context', () => {
  it('makes it fit by a truncation, by cutting results down, or says what is too large', () => {
    const seen = { truncate: 0, shorten: 0, tooLarge: 0 }
    fc.assert(
      fc.property(logs, settings, (log, chosen) => {
        const managed = manageContext(effective(log), chosen, { canCondense: false })
        if (E.isLeft(managed)) {
          const error = managed.left
          expect(error._tag).toBe('ContextTooLarge')
          if (error._tag !== 'ContextTooLarge') return
          seen.tooLarge++
          expect(error.used).toBeGreaterThan(error.allowed)
          expect(error.items.reduce((sum, { tokens }) => sum + tokens, error.prompt)).toBe(error.used)
          return
        }
        const { used, allowed, type } = managed.right
        expect(used).toBe(countTokens(effective(log)).total)
        expect(type === 'nothing').toBe(used <= allowed)
        if (type === 'nothing') return
        const after = carriedOut(log, managed.right, '')
        if (type === 'truncate') {
          seen.truncate++
          expect(countTokens(effective(after)).total).toBeLessThanOrEqual(allowed)
          return
        }
        seen.shorten++
        const next = right(manageContext(effective(after), chosen, { canCondense: false }))
        const fits = next.type === 'truncate' ? carriedOut(after, next, '') : after
        expect(countTokens(effective(fits)).total).toBeLessThanOrEqual(allowed)
      }),
      { numRuns: runs(420) },
    )
    if (scale >= 1) {
      expect(seen.truncate).toBeGreaterThan(12)
      expect(seen.shorten).toBeGreaterThan(0)
      expect(seen.tooLarge).toBeGreaterThan(12)
    }
  })

  it('cuts no results down where the rest does not fit then: what the API counted is hidden only later', () => {
    const usage = (input: number) => ({
      stopReason: 'end_turn',
      usage: { input_tokens: input, output_tokens: 1 },
    })
    const image = { type: 'image', source: { type: 'base64' } }
    const cache = { cache_control: { type: 'ephemeral' } }
    const log = logOf(
      user([]),
      user([]),
      user('Hello.'),
      assistant([]),
      truncated(0, 0),
      user([]),
      assistant([toolUse('twice', { path: 'a.ts' })], usage(120)),
      assistant([]),
      user([toolResult('twice', 'ok')]),
      user('Hello.'),
      user([{ ...toolResult('twice', 'ok'), ...cache }]),
      assistant(
        [toolUse('twice', { path: 'a.ts' }), { type: 'thinking', thinking: 'no signature' }],
        usage(220),
      ),
      user([toolResult('twice', 'ok')]),
      user([{ ...toolResult('twice', [{ ...thinking('inside') }, image]), ...cache }]),
    )
    const managed = manageContext(effective(log), { window: 56, reserved: 0 }, { canCondense: false })
    expect(left(managed)._tag).toBe('ContextTooLarge')
  })

  it('hides after results were cut down what was to be hidden then: an edited turn of the user is still the newest', () => {
    const large = toolResult('a', 'x'.repeat(3_000))
    const log = logOf(
      user('Hello.'),
      user('x'.repeat(600)),
      assistant([toolUse('a')]),
      user([large, text('And now?')]),
    )
    const chosen = { window: 400, reserved: 0, keepFirst: 1 }
    const shorten = right(manageContext(effective(log), chosen, { canCondense: false }))
    expect(shorten).toMatchObject({ type: 'shorten', edits: [{ covers: { first: 3, last: 3 } }] })
    const after = carriedOut(log, shorten, '')
    const hide = right(manageContext(effective(after), chosen, { canCondense: false }))
    expect(hide).toMatchObject({ type: 'truncate', covers: [{ first: 1, last: 1 }] })
    expect(countTokens(effective(carriedOut(after, hide, ''))).total).toBeLessThanOrEqual(hide.allowed)
  })

  it('never hides the task, the newest turn of the user or the end, and parts no call from its result', () => {
    fc.assert(
      fc.property(logs, settings, fc.boolean(), (log, chosen, canCondense) => {
        const before = effective(log)
        const managed = manageContext(before, chosen, { canCondense })
        if (E.isLeft(managed)) return
        const after = effective(carriedOut(log, managed.right, 'S.'))
        if (managed.right.type === 'shorten') {
          expect(toolCalls(after)).toHaveLength(toolCalls(before).length)
          return
        }
        expect(positions(after)).toEqual(expect.arrayContaining([...kept(before)]))
        const shown = new Set(positions(after))
        for (const { use, result, isLate } of toolCalls(before))
          // The call has an error result without a late one.
          if (result !== undefined && !(isLate && shown.has(use)))
            expect(shown.has(use)).toBe(shown.has(result))
      }),
      { numRuns: runs(420) },
    )
  })

  it('comes to an end: every step shows less, and few are needed', () => {
    const summaries = fc.constantFrom('S.', 'A summary of some words.', 'long '.repeat(60))
    fc.assert(
      fc.property(logs, settings, summaries, (log, chosen, summary) => {
        let now = log
        let canCondense = true
        for (let step = 0; ; step++) {
          expect(step).toBeLessThan(6)
          const before = effective(now)
          const managed = manageContext(before, chosen, { canCondense })
          if (E.isLeft(managed) || managed.right.type === 'nothing') return
          const plan = managed.right
          const message = { role: 'user' as const, content: [text(summary)] }
          if (plan.type === 'condense' && E.isLeft(checkCondensed(before, plan.covers, [message]))) {
            canCondense = false
            continue
          }
          now = carriedOut(now, plan, summary)
          expect(weight(effective(now))).toBeLessThan(weight(before))
        }
      }),
      { numRuns: runs(420) },
    )
  })

  it('is refused with settings out of range', () => {
    const outside = fc.oneof(
      fc.double({ max: 4.99, noDefaultInfinity: true }).map((percentage) => ({ percentage })),
      fc.double({ min: 100.01 }).map((percentage) => ({ percentage })),
      fc.double({ min: -0.99, max: 4.99 }).map((m) => ({ profiles: { m } })),
      fc.integer({ max: 0 }).map((window) => ({ window })),
      fc.integer({ max: 0 }).map((keepFirst) => ({ keepFirst })),
      fc.integer({ max: 0 }).map((keepLast) => ({ keepLast })),
      fc.double({ max: 0 }).map((fraction) => ({ fraction })),
      fc.integer({ min: 90, max: 1_000 }).map((reserved) => ({ reserved })),
    )
    fc.assert(
      fc.property(outside, (wrong) => {
        const managed = manageContext(
          effective([]),
          { window: 100, reserved: 0, ...wrong },
          { canCondense: true },
        )
        expect(managed).toMatchObject({ _tag: 'Left', left: { _tag: 'InvalidInput' } })
      }),
      { numRuns: runs(180) },
    )
  })
})

/** The input tokens that the first item records, or, where it is a part of a reply, its other parts. */
const inputsOf = ([first, ...others]: readonly Item[]): readonly unknown[] => {
  if (first?.kind !== 'message') return []
  const isPart = (item: Item): boolean =>
    item.kind === 'message' &&
    item.origin?.requestId !== undefined &&
    item.origin.requestId === first.origin?.requestId
  return [first, ...others.filter(isPart)].flatMap((item) =>
    item.kind === 'message' ? [item.origin?.usage?.['input_tokens']] : [],
  )
}

describe('the count of any history', () => {
  it('is the sum of its parts, in whole tokens, and what the API counted where that still holds', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (log, where) => {
        const now = effective(log, where % Math.max(1, log.length))
        const { total, prompt, items, anchor } = countTokens(now)
        const parts = [prompt, ...items.map(({ tokens }) => tokens)]
        expect(parts.every((tokens) => Number.isInteger(tokens) && tokens >= 0)).toBe(true)
        expect(parts.reduce((sum, tokens) => sum + tokens, 0)).toBe(total)
        expect(items.map(({ position }) => position)).toEqual(positions(now))
        const at = items.findIndex(({ position }) => position === anchor)
        if (at < 0) return
        const before = items.slice(0, at).reduce((sum, { tokens }) => sum + tokens, prompt)
        expect(inputsOf(now.items.slice(at))).toContain(before)
      }),
      { numRuns: runs(300) },
    )
  })

  it('is the same from the same log, and grows by what is appended', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const copy = JSON.parse(JSON.stringify(log)) as Log
        expect(countTokens(effective(copy))).toEqual(countTokens(effective(log)))
        const more = apply(log, {
          type: 'append',
          messages: [{ role: 'user', content: 'And what about this?' }],
        })
        expect(countTokens(effective(more)).total).toBeGreaterThan(countTokens(effective(log)).total)
      }),
      { numRuns: runs(180) },
    )
  })

  it('has every item of the full history, those that are shown as they are counted', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const { items, total } = historyTokens(log)
        const now = countTokens(effective(log))
        expect(total).toBe(now.total)
        expect(items.map(({ position }) => position)).toEqual(full(log).map(({ position }) => position))
        for (const { position, tokens } of now.items)
          expect(items.find((item) => item.position === position)?.tokens).toBe(tokens)
      }),
      { numRuns: runs(180) },
    )
  })
})
