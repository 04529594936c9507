import { describe, expect, it } from 'vitest'
import { checkCondensed, manageContext } from '../../../src/agent/context/policy/policy.ts'
import type { ContextSettings } from '../../../src/agent/context/policy/settings.ts'
import type { Event, Policy } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { left, right } from '../../support/either.ts'
import {
  assistant,
  condensed,
  configured,
  logOf,
  text,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../../support/log.ts'

/** Text that is estimated as so many tokens. */
const words = (tokens: number): string => 'x'.repeat(Math.floor(tokens * 3.3))
const said = (tokens: number): Event => user(words(tokens))
const replied = (tokens: number): Event => assistant(words(tokens))

/** 900 tokens are allowed. */
const window: ContextSettings = { window: 1_000, reserved: 0 }
const plan = (
  history: readonly Event[],
  settings: Partial<ContextSettings> = {},
  canCondense = true,
): ReturnType<typeof manageContext> =>
  manageContext(effective(logOf(...history)), { ...window, ...settings }, { canCondense })
const planned = (...given: Parameters<typeof plan>) => right(plan(...given))
const withoutCondense = (history: readonly Event[], settings: Partial<ContextSettings> = {}) =>
  planned(history, { automatic: false, ...settings })

/** A task and nine short turns: 1,000 tokens, ten items. */
const turns = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? said(100) : replied(100)))

describe('what is allowed', () => {
  const allowed = (settings: ContextSettings): number =>
    right(manageContext(effective([]), settings, { canCondense: true })).allowed

  it('is the window without a tenth and without what is reserved for the answer', () => {
    expect(allowed({ window: 200_000, reserved: 1_000 })).toBe(179_000)
    expect(allowed({ window: 200_000, maxOutput: 64_000 })).toBe(116_000)
    expect(allowed({ window: 200_000, maxOutput: 64_000, reserved: 0 })).toBe(180_000)
    expect(allowed({ window: 200_000 })).toBe(171_808)
    expect(allowed({ window: 200_000, buffer: 0, reserved: 0 })).toBe(200_000)
  })

  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ['percentage', { percentage: 4 }],
    ['percentage', { percentage: 101 }],
    ['percentage', { percentage: Number.NaN }],
    ['percentage', { percentage: -1 }],
    ['profiles.m', { profiles: { m: 4 } }],
    ['profiles.m', { profiles: { m: -2 } }],
    ['profiles.m', { profiles: { m: 101 } }],
    ['window', { window: 0 }],
    ['window', { reserved: 900 }],
    ['reserved', { reserved: -1 }],
    ['buffer', { buffer: 1 }],
    ['buffer', { buffer: -0.1 }],
    ['maxOutput', { maxOutput: 0 }],
    ['keepFirst', { keepFirst: 0 }],
    ['keepLast', { keepLast: 0 }],
    ['fraction', { fraction: 0 }],
    ['fraction', { fraction: 1.1 }],
    ['percent', { percent: 50 }],
  ])('a %s that cannot be is refused: %j', (path, settings) => {
    expect(left(plan(turns, settings))).toMatchObject({ _tag: 'InvalidInput', path })
  })
})

describe('a context that fits', () => {
  it('is left alone up to the last token that is allowed', () => {
    expect(planned([said(800), replied(50), said(50)])).toEqual({ type: 'nothing', used: 900, allowed: 900 })
    expect(planned([said(50), replied(801), said(40), replied(5), said(5)])).toMatchObject({
      type: 'condense',
    })
  })

  it('is condensed from the percentage of the window on', () => {
    const small = turns.slice(0, 5)
    expect(planned(small, { percentage: 51 }).type).toBe('nothing')
    expect(planned(small, { percentage: 50 }).type).toBe('condense')
    expect(planned(small, { percentage: 50, automatic: false }).type).toBe('nothing')
    expect(planned(small, { percentage: 50 }, false).type).toBe('nothing')
  })

  it('is condensed from the percentage of the model on, where it has one of its own', () => {
    const small = [configured({ model: 'm' }), ...turns.slice(0, 5)]
    expect(planned(small, { profiles: { m: 50 } }).type).toBe('condense')
    expect(planned(small, { percentage: 50, profiles: { m: 51 } }).type).toBe('nothing')
    expect(planned(small, { percentage: 50, profiles: { m: -1 } }).type).toBe('condense')
    expect(planned(small, { profiles: { other: 50 } }).type).toBe('nothing')
  })
})

describe('a condense', () => {
  it('hides all but the first message and the last three', () => {
    expect(planned([...turns, replied(1)], { target: 1 })).toEqual({
      type: 'condense',
      used: 1_001,
      allowed: 900,
      covers: { first: 1, last: 7 },
    })
    expect(planned([...turns, replied(1)], { keepFirst: 2, keepLast: 5, target: 1 })).toMatchObject({
      covers: { first: 2, last: 5 },
    })
  })

  it('leaves half of what is allowed, or the share that is asked for, and keeps fewer messages for that', () => {
    const long = [...turns.slice(0, 8), said(250), replied(1)]
    expect(planned(long)).toMatchObject({ type: 'condense', covers: { first: 1, last: 7 } })
    expect(planned([...turns, replied(1)], { keepLast: 8 })).toMatchObject({ covers: { last: 6 } })
    expect(planned([...turns, replied(1)], { keepLast: 8, target: 0.3 })).toMatchObject({
      covers: { last: 7 },
    })
  })

  describe('after another one of a turn', () => {
    const policy = { of: 'context' as const, used: 1_000, allowed: 900, settings: { ...window } }
    const after = (tokens: number, more: Partial<Policy> = {}): readonly Event[] => {
      const { type, data } = condensed(1, 8, words(tokens))
      return [...turns, { type, data: { ...data, method: 'model', policy: { ...policy, ...more } } }]
    }
    const half = { percentage: 50 }

    it('waits until a tenth of the window was said', () => {
      expect(planned([...after(500), said(99)], half)).toMatchObject({ type: 'nothing', said: 99 })
      expect(planned([...after(500), said(100)], half)).toMatchObject({ type: 'condense', said: 100 })
    })

    it('gives way to a truncation of what does not fit, and the count continues', () => {
      expect(planned([...after(700), said(50)], half)).toMatchObject({ type: 'truncate', said: 50 })
      const cut = truncated(10, 9)
      const hidden = { ...cut, data: { ...cut.data, policy: { ...policy, said: 50 } } }
      const later = [...after(700), said(50), hidden, said(40), replied(300), said(9)]
      expect(planned(later, { ...half, percentage: 40 }).said).toBe(399)
    })

    it('does not wait for one that was not a turn’s, or in another window', () => {
      const settings = { ...window, window: 2_000 }
      expect(planned([...after(500, { settings }), said(9)], half).type).toBe('condense')
      expect(planned([...turns, condensed(1, 8, words(500)), said(9)], half).type).toBe('condense')
    })

    it('waits where it has failed, too, and the context was truncated', () => {
      const cut = truncated(1, 8)
      const hidden = { ...cut, data: { ...cut.data, policy: { ...policy, failed: 'ContextGrew' } } }
      const history = [...turns, hidden, said(99), replied(500)].slice(0, 12)
      expect(planned(history, { percentage: 20 })).toMatchObject({ type: 'nothing', said: 99 })
    })
  })

  it('takes an old summary in, where something was said since', () => {
    const again = [...turns, condensed(1, 4, words(300)), replied(1), said(300)]
    expect(planned(again, { target: 1 })).toMatchObject({ type: 'condense', covers: { first: 10, last: 8 } })
  })

  it('does not summarise a summary alone: the history is truncated then, if it has to be', () => {
    const old = [said(100), replied(10), condensed(1, 1, words(900)), said(20)]
    expect(planned(old, { percentage: 5 })).toMatchObject({
      type: 'truncate',
      covers: [{ first: 2, last: 2 }],
    })
    expect(planned(old, { percentage: 5, window: 2_000 }).type).toBe('nothing')
  })

  it('keeps the newest turn of the user: it hides what is more, before or after it', () => {
    const round = [assistant([toolUse('a')]), user([toolResult('a', words(300))])]
    const behind = [said(10), replied(100), said(10), ...round, replied(300), replied(300), said(1)].slice(
      0,
      7,
    )
    const history = [...behind, assistant([toolUse('b')]), user([toolResult('b')])]
    expect(planned(history, { target: 1 })).toMatchObject({
      type: 'condense',
      covers: { first: 3, last: 5 },
    })
    const before = [said(10), replied(900), said(10), replied(50), replied(1), replied(1), replied(1)]
    expect(planned(before)).toMatchObject({ type: 'condense', covers: { first: 1, last: 1 } })
  })

  it('that failed, or is off, makes room for a truncation', () => {
    expect(planned(turns, {}, true).type).toBe('condense')
    expect(planned(turns, {}, false).type).toBe('truncate')
    expect(planned(turns, { automatic: false }, true).type).toBe('truncate')
  })
})

describe('a truncation', () => {
  it('hides half of what comes after the first message', () => {
    expect(withoutCondense(turns)).toEqual({
      type: 'truncate',
      used: 1_000,
      allowed: 900,
      covers: [{ first: 1, last: 4 }],
    })
    expect(withoutCondense(turns, { fraction: 0.25 })).toMatchObject({ covers: [{ first: 1, last: 2 }] })
    expect(withoutCondense(turns, { keepFirst: 4 })).toMatchObject({ covers: [{ first: 4, last: 6 }] })
  })

  it('hides half of the rest, and so on, until the context fits', () => {
    expect(withoutCondense(turns, { window: 600 })).toMatchObject({ covers: [{ first: 1, last: 6 }] })
  })

  it('hides a little more where a call would be parted from its result', () => {
    const parted = turns.with(4, assistant([toolUse('a')])).with(5, user([toolResult('a', words(187))]))
    expect(withoutCondense(parted)).toMatchObject({ covers: [{ first: 1, last: 5 }] })
  })

  it('keeps three messages at the end; only the last one where that cannot fit', () => {
    const loop = [said(10), ...turns.slice(1).map(() => replied(100))]
    expect(withoutCondense(loop, { window: 400 })).toMatchObject({ covers: [{ first: 1, last: 6 }] })
    expect(withoutCondense(loop, { window: 300 })).toMatchObject({ covers: [{ first: 1, last: 7 }] })
  })

  it('continues after the newest turn of the user, if all before it is not enough', () => {
    const loop = [said(10), replied(100), said(10), ...turns.slice(1).map(() => replied(100))]
    expect(withoutCondense(loop)).toMatchObject({
      covers: [
        { first: 1, last: 1 },
        { first: 3, last: 6 },
      ],
    })
  })

  it('takes an old one in', () => {
    const again = [...turns, truncated(1, 4), said(200), replied(200)]
    expect(withoutCondense(again)).toMatchObject({ covers: [{ first: 10, last: 7 }] })
  })
})

describe('a message that was edited in place', () => {
  const edit = (position: number, tokens: number, role: 'user' | 'assistant'): Event =>
    condensed(position, position, [{ role, content: [text(words(tokens))] }])

  it('is the task where it is the first one', () => {
    const edited = [...turns, edit(0, 100, 'user')]
    expect(planned(edited)).toMatchObject({ type: 'condense', covers: { first: 1, last: 6 } })
    expect(withoutCondense(edited)).toMatchObject({ covers: [{ first: 1, last: 4 }] })
  })

  it('is the newest turn of the user where it was that', () => {
    const loop = [said(10), replied(500), said(10), ...turns.slice(4).map(() => replied(100))]
    const edited = [...loop, edit(2, 10, 'user')]
    const covers = [
      { first: 1, last: 1 },
      { first: 3, last: 5 },
    ]
    expect(withoutCondense(loop, { window: 600 })).toMatchObject({ covers })
    expect(withoutCondense(edited, { window: 600 })).toMatchObject({ covers })
  })

  it('is one of the last that stay', () => {
    expect(planned([...turns, edit(8, 100, 'user')], { target: 1 })).toMatchObject({
      covers: { first: 1, last: 6 },
    })
  })

  it('does not count if it replaces more, or as a summary', () => {
    const both = [{ role: 'user' as const, content: [text(words(100))] }]
    const hidden = (marker: Event) => withoutCondense([...turns, marker], { window: 900 })
    expect(hidden(condensed(0, 1, both))).toMatchObject({ covers: [{ first: 10 }] })
    const { type, data } = condensed(0, 0, both)
    const summary: Event = { type, data: { ...data, method: 'model' } }
    expect(hidden(summary)).toMatchObject({ covers: [{ first: 10 }] })
  })
})

describe('results that have to stay', () => {
  const round = [said(1), assistant([toolUse('a')]), user([toolResult('a', words(2_000))])]

  it('are cut down to a half, a quarter and so on, where nothing that may be hidden helps', () => {
    const edits = [{ covers: { first: 2, last: 2 }, bytes: 1_650 }]
    expect(planned(round)).toMatchObject({ type: 'shorten', edits })
    expect(planned([said(1), replied(500), ...round])).toMatchObject({ type: 'shorten' })
  })

  it('stay as they are where hiding what may be hidden helps', () => {
    expect(planned([said(1), replied(1_000), ...round], { window: 3_000 }).type).toBe('condense')
  })
})

describe('a context that cannot fit', () => {
  it('is refused, with what fills it, the largest first', () => {
    const history = [configured({ system: words(50) }), said(10), replied(500), said(2_000), replied(1)]
    const error = left(plan(history, {}, false))
    expect(error).toMatchObject({ _tag: 'ContextTooLarge', used: 2_071, allowed: 900, prompt: 50 })
    expect(error).toHaveProperty('items', [
      { position: 3, tokens: 2_000 },
      { position: 1, tokens: 10 },
      { position: 5, tokens: 10 },
      { position: 4, tokens: 1 },
    ])
    expect(error.message).toContain('system prompt and tools (50), position 3 (2000)')
  })

  it('is refused where the task alone is too large, or a tool round at the end', () => {
    expect(left(plan([said(901)]))).toMatchObject({ _tag: 'ContextTooLarge', used: 901 })
    const round = [said(900), assistant([toolUse('a')]), user([toolResult('a', words(900))])]
    expect(left(plan(round))).toMatchObject({ _tag: 'ContextTooLarge' })
  })

  it('is not made larger by hiding what is smaller than its note', () => {
    const history = [said(901), replied(1), said(1)]
    expect(left(plan(history, {}, false))).toMatchObject({ used: 903 })
  })
})

describe('a summary', () => {
  const now = effective(logOf(said(100), replied(100), said(100), condensed(0, 1, words(50)), replied(9)))
  const summary = (tokens: number) => [{ role: 'user' as const, content: [text(words(tokens))] }]

  it('may replace what is larger', () => {
    expect(checkCondensed(now, { first: 3, last: 2 }, summary(149))).toEqual({
      _tag: 'Right',
      right: { before: 150, after: 149 },
    })
  })

  it('that is as large as what it replaces is refused', () => {
    expect(left(checkCondensed(now, { first: 3, last: 2 }, summary(150)))).toMatchObject({
      _tag: 'ContextGrew',
      covers: { first: 3, last: 2 },
      before: 150,
      after: 150,
    })
  })

  it('of a summary alone is refused, as is one of nothing that is shown', () => {
    expect(left(checkCondensed(now, { first: 3, last: 3 }, summary(1)))).toMatchObject({
      _tag: 'NothingNew',
      covers: { first: 3, last: 3 },
    })
    expect(left(checkCondensed(now, { first: 0, last: 1 }, summary(1)))._tag).toBe('NothingNew')
  })
})
