import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type {
  VerificationResponse,
  AuditHead,
  ConversationAuditResponse,
} from '../../src/ui/source/answers.ts'
import { rewrittenIn, storeVerdict, verdictOf } from '../../src/ui/audit/verdict.ts'
import { callsIn, positionsIn, rangesOf } from '../../src/ui/audit/withhold.ts'
import { columnsOf } from '../../src/ui/investigate/heat.ts'
import { apart, areaOf, lineOf, plotOf, roundUp } from '../../src/ui/investigate/curve.ts'
import * as E from 'fp-ts/lib/Either.js'
import { limitsOf } from '../../src/agent/context/policy/settings.ts'
import { check } from '../../src/events/check.ts'
import type { ReplayPolicy } from '../../src/investigate/index.ts'
import { policySchema } from '../../src/investigate/replay-policy.ts'
import { draftIn, isAsked, policyOf, queryFields, wrongIn } from '../../src/ui/investigate/policy.ts'
import { queryOf } from '../../src/ui/url.ts'

const head = (position: number, state: AuditHead['state'] = 'same', index = position): AuditHead => ({
  revision: position,
  position,
  index,
  head: 'f'.repeat(64),
  sealed: '2026-11-23T08:00:00.000Z',
  state,
})
const anchor = (size: number) => ({ anchor: 'elsewhere/', size, time: '2026-11-23T08:00:00.000Z' })
const unsealed = { conversation: 'a', last: 9 }
const ledger = (heads: readonly AuditHead[], anchors: readonly ReturnType<typeof anchor>[] = []) => ({
  ...unsealed,
  ledger: { origin: 'o', key: 'k', size: 10, first: 0, heads, anchors },
})
const receipts = { verified: 3, differs: 0, missing: 0, reconstructed: 0, findings: [] }
const right: VerificationResponse = { ...unsealed, events: 10, receipts }
const titled = (standing: ConversationAuditResponse, checked: VerificationResponse = right) => {
  const { tone, title } = verdictOf(standing, checked, false)
  return [tone, title]
}

describe('what proves a conversation', () => {
  test('is said from the least to the most', () => {
    expect(titled(unsealed)).toEqual(['open', 'The hash chain is intact, but nothing else proves it'])
    expect(titled(ledger([]))).toEqual(['open', 'Not sealed yet'])
    expect(titled(ledger([head(9)]))).toEqual(['open', 'Sealed through 9, but kept only here'])
    expect(titled(ledger([head(9), head(5)], [anchor(6)]))).toEqual([
      'open',
      'Unchanged since it was sealed, through 5',
    ])
    expect(titled(ledger([head(9)], [anchor(10)]))).toEqual([
      'good',
      'Unchanged since it was sealed, to its last event',
    ])
  })

  test('is not said before everything was looked at, and what contradicts is said at once', () => {
    expect(verdictOf(ledger([head(9)], [anchor(10)]), undefined, true).tone).toBe('busy')
    expect(verdictOf(undefined, right, false).tone).toBe('busy')
    expect(verdictOf(ledger([head(9, 'changed')]), undefined, true).tone).toBe('bad')
    const broken = { ...right, discrepancy: { position: 4, kind: 'chain', message: 'x' } }
    expect(verdictOf(undefined, broken, true)).toMatchObject({ tone: 'bad', position: 4 })
  })

  test('is contradicted by the chain, the ledger, or a receipt, in words', () => {
    const chain = { position: 7, kind: 'chain', message: 'x' }
    expect(titled(unsealed, { ...right, discrepancy: chain })).toEqual([
      'bad',
      'Event 7 does not contain the hash of the one before it',
    ])
    const end = { position: 7, kind: 'end', message: 'x' }
    // What cannot be read cannot be looked at.
    const unreadable = { position: 4, kind: 'undecodable', message: 'x' }
    expect(verdictOf(unsealed, { ...right, discrepancy: unreadable }, false).position).toBe(3)
    expect(titled(unsealed, { ...right, discrepancy: end })).toEqual(['bad', 'There is a problem at event 7'])
    expect(titled({ ...unsealed, problem: 'x' })).toEqual(['bad', 'The ledger contradicts itself'])
    expect(titled(ledger([head(9, 'gone'), head(5)]))).toEqual(['bad', 'Event 9 was sealed but is missing'])
    const findings = [
      { position: 3, kind: 'missing', message: 'no receipt' },
      { call: 2, position: 5, kind: 'digest', message: 'differs' },
    ]
    expect(titled(unsealed, { ...right, receipts: { ...receipts, findings } })).toEqual([
      'bad',
      'Call 2 sent a request that differs from the log',
    ])
  })

  test('of a whole store says what to do next', () => {
    const store = { origin: 'o', key: 'k', size: 3, anchors: [anchor(3)], unsealed: 0 }
    expect(storeVerdict(undefined).command).toContain('audit init')
    expect(storeVerdict({ ...store, size: 0, anchors: [] }).title).toBe('Nothing is sealed yet')
    expect(storeVerdict({ ...store, anchors: [], exposedSince: 'beginning' }).title).toBe(
      'Sealed, but kept only here',
    )
    expect(storeVerdict({ ...store, unsealed: 2, exposedSince: anchor(3).time }).words).toContain(
      '2 conversations were',
    )
    expect(storeVerdict(store)).toMatchObject({
      tone: 'open',
      title: 'Everything is sealed, and an anchor has seen it',
    })
  })

  test('what was rewritten lies after everything sealed that is still the same, and through the first that is not', () => {
    const heads = fc
      .uniqueArray(fc.nat(50), { minLength: 1 })
      .chain((positions) =>
        fc
          .tuple(fc.constant(positions), fc.nat(51))
          .map(([given, changed]) =>
            given.map((position) => head(position, position >= changed ? 'changed' : 'same')),
          ),
      )
    fc.assert(
      fc.property(heads, (all) => {
        const found = rewrittenIn(all)
        const wrong = all.filter(({ state }) => state === 'changed').map(({ position }) => position)
        expect(found?.through).toBe(wrong.length === 0 ? undefined : Math.min(...wrong))
        const same = all.filter(({ state }) => state === 'same').map(({ position }) => position)
        expect(found?.after).toBe(wrong.length === 0 || same.length === 0 ? undefined : Math.max(...same))
      }),
    )
  })
})

test('what is to be withheld is read as people write it', () => {
  expect(positionsIn('12, 15-17 3', 48)).toEqual([3, 12, 15, 16, 17])
  expect(positionsIn('', 48)).toEqual([])
  for (const wrong of ['x', '49', '5-3', '-1', '1.5', '0-999999999'])
    expect(positionsIn(wrong, 48)).toBeUndefined()
  expect([callsIn(' '), callsIn('3'), callsIn('3..7'), callsIn('3 – 7')]).toEqual([
    null,
    { first: 3, last: 3 },
    { first: 3, last: 7 },
    { first: 3, last: 7 },
  ])
  for (const wrong of ['0', '7-3', 'a']) expect(callsIn(wrong)).toBeUndefined()
})

test('positions are written as they are read', () => {
  expect(rangesOf([17, 12, 16, 15, 12])).toBe('12, 15-17')
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(40)), (positions) => {
      const sorted = positions.toSorted((one, other) => one - other)
      expect(positionsIn(rangesOf(positions), 40)).toEqual(sorted)
    }),
  )
})

describe('the heat strip', () => {
  test('has a column for each candidate, or the likeliest of those that share a pixel', () => {
    expect(columnsOf([0.1, 0.2, 0.7], 300).map(({ index }) => index)).toEqual([0, 1, 2])
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 2_000 }),
        fc.integer({ min: 1, max: 800 }),
        (probabilities, width) => {
          const columns = columnsOf(probabilities, width)
          const most = Math.max(...probabilities)
          expect(columns.length > 0).toBe(most > 0)
          expect(columns.length).toBeLessThanOrEqual(width)
          expect(most === 0 || columns.some(({ index }) => probabilities[index] === most)).toBe(true)
          for (const { x, width: wide } of columns) expect(x + wide).toBeLessThanOrEqual(width + 1)
          for (const [n, { x }] of columns.entries()) expect(x).toBeGreaterThan(columns[n - 1]?.x ?? -1)
          if (probabilities.length * 2 > width)
            for (const [n, { x, width: wide }] of columns.slice(0, -1).entries())
              expect(x + wide).toBe(columns[n + 1]?.x)
        },
      ),
    )
  })
})

describe('the curve of tokens', () => {
  test('goes in steps from call to call, within its plot', () => {
    const points = [
      { position: 0, tokens: 1_000 },
      { position: 10, tokens: 4_100 },
    ]
    const plot = plotOf(points, 10, { width: 212, height: 101 })
    expect(plot.most).toBe(5_000)
    expect(lineOf(points, plot)).toBe('M12 82.2H200V27')
    expect(areaOf(points, plot)).toBe('M12 82.2H200V27V100H12Z')
    expect(areaOf([], plot)).toBe('')
  })

  test('has no mark on another one while there is room', () => {
    const marks = [10, 12, 14, 100].map((x) => ({ x, y: 90 }))
    expect(apart(marks, 24)).toEqual([
      { x: 10, y: 90 },
      { x: 12, y: 66 },
      { x: 14, y: 42 },
      { x: 100, y: 90 },
    ])
    expect(apart([{ x: 0, y: 3 }], 24)).toEqual([{ x: 0, y: 12 }])
  })

  test('ends at a round number', () => {
    expect([0, 1, 9, 10, 11, 24_001, 99_999].map(roundUp)).toEqual([1, 1, 10, 10, 20, 25_000, 100_000])
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000_000 }), (value) => {
        expect(roundUp(value)).toBeGreaterThanOrEqual(value)
        expect(roundUp(value)).toBeLessThanOrEqual(value * 2.5)
      }),
    )
  })
})

describe('a policy', () => {
  test('is as the API takes it, without what is left to the default', () => {
    const draft = draftIn('', 50_000)
    expect(policyOf(draft)).toEqual({ context: { window: 50_000 }, mode: 'condense' })
    const all = {
      ...draft,
      reserved: '800',
      mode: 'truncate',
      percentage: '80',
      keepLast: '4',
      clearResults: '2',
      cache: '1h',
    } as const
    expect(policyOf(all)).toEqual({
      context: { window: 50_000, reserved: 800, percentage: 80, keepLast: 4 },
      mode: 'truncate',
      clearResults: { keepLast: 2 },
      cache: '1h',
    })
    for (const window of ['', 'x', '-1', '1e3']) {
      expect(policyOf({ ...draft, window })).toBeUndefined()
      expect(wrongIn({ ...draft, window, keepLast: '3' })).toMatchObject([{ name: 'window' }])
    }
  })

  test('is refused where the API would, by field', () => {
    const draft = draftIn('', 50_000)
    const refused = (given: object): boolean =>
      E.isLeft(check(policySchema, given)) || E.isLeft(limitsOf((given as ReplayPolicy).context, 'm'))
    for (const [name, texts] of Object.entries({
      window: ['0', '9103', '9104', '50000'],
      reserved: ['0', '1', '44999'],
      percentage: ['0', '4', '5', '100', '101'],
      keepLast: ['0', '1'],
      clearResults: ['0'],
    }))
      for (const text of texts) {
        const given = { ...draft, [name]: text }
        const policy = {
          context: {
            window: Number(given.window),
            ...(name === 'reserved' && { reserved: Number(text) }),
            ...(name === 'percentage' && { percentage: Number(text) }),
            ...(name === 'keepLast' && { keepLast: Number(text) }),
          },
          ...(name === 'clearResults' && { clearResults: { keepLast: Number(text) } }),
        }
        const wrong = wrongIn(given).map((one) => one.name)
        expect([text, wrong]).toEqual([text, refused(policy) ? [name] : []])
      }
    expect(wrongIn({ ...draft, percentage: '4' })).toEqual([
      { name: 'percentage', words: 'The percentage must be a whole number from 5 to 100.' },
    ])
  })

  test('whose window leaves no room says how to make some, and is then as the API takes it', () => {
    const draft = draftIn('?window=8000', 1)
    const [refused] = wrongIn(draft)
    expect(refused).toEqual({
      name: 'window',
      words:
        'This leaves no room for a request: 8,192 tokens are for the answer, and a tenth of the window stays free. Make the window 9,104 or more, or keep 7,199 or fewer for the answer.',
    })
    for (const better of [
      { ...draft, window: '9104' },
      { ...draft, reserved: '7199' },
    ]) {
      expect(wrongIn(better)).toEqual([])
      const { context } = policyOf(better) as ReplayPolicy
      expect(limitsOf(context, 'm')).toMatchObject({ right: { allowed: 1 } })
    }
    expect(wrongIn({ ...draft, reserved: '7200' })).toHaveLength(1)
    expect(limitsOf({ window: 8_000, reserved: 7_200 }, 'm')).toMatchObject({
      left: {
        message: expect.stringContaining('make it 8002 or more, or `reserved` 7199 or less') as string,
      },
    })
    expect(wrongIn({ ...draft, window: '1' })[0]?.words).toMatch(/9,104 or more\.$/)
  })

  test('comes back from its address', () => {
    const draft = draftIn('?window=9000&reserved=800&mode=keep&cache=1h&keepLast=2', 1)
    const search = queryOf(queryFields(draft))
    expect(isAsked(search)).toBe(true)
    expect(draftIn(search, 1)).toEqual(draft)
    expect(isAsked('')).toBe(false)
    expect(draftIn('?mode=x&cache=y', 7)).toMatchObject({ mode: 'condense', cache: '', window: '7' })
  })
})
