import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type GivenVerdict, nextMove, probabilities, type Search } from '../../src/investigate/bisection.ts'
import { numbers } from '../support/investigate/numbers.ts'
import { runs } from '../support/runs.ts'

const searchIn = (n: number, reliability: number, weights = Array.from({ length: n }, () => 1)): Search => ({
  candidates: Array.from({ length: n }, (_, index) => 3 * index + 1),
  weights,
  reliability,
})

/** Plays a search, whose first bad candidate is given. */
const played = (search: Search, first: number, isRight: () => boolean) => {
  const given: GivenVerdict[] = []
  for (;;) {
    const move = nextMove(search, given)
    if (move.type !== 'ask') return { move, asks: given.length, given }
    const isBad = move.position >= first
    given.push({ position: move.position, verdict: isBad === isRight() ? 'bad' : 'good' })
  }
}

describe('a search for the first bad position', () => {
  test('with reliable verdicts is right in ⌈log₂ n⌉ + 1 asks at most, whatever is suspected', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 700 })
    fc.assert(
      fc.property(weights, fc.nat(), (suspected, nth) => {
        const search = searchIn(suspected.length, 1, suspected)
        const first = search.candidates[nth % suspected.length] ?? 0
        const { move, asks } = played(search, first, () => true)
        expect(move).toMatchObject({ type: 'found', position: first })
        expect(asks).toBeLessThanOrEqual(Math.ceil(Math.log2(suspected.length)) + 1)
      }),
      { numRuns: runs(2_000) },
    )
  })

  test('with verdicts that are right four times of five finds 90 % of 300 in 40 asks on average', () => {
    const next = numbers(Number(process.env['PALIMPSEST_SEED'] ?? 1))
    const search = searchIn(300, 0.8)
    let [found, asked] = [0, 0]
    for (let round = 0; round < 500; round++) {
      const first = search.candidates[next(300)] ?? 0
      const { move, asks } = played(search, first, () => next(10) < 8)
      if (move.type === 'found' && move.position === first) found++
      asked += asks
    }
    expect(found / 500).toBeGreaterThanOrEqual(0.9)
    expect(asked / 500).toBeLessThanOrEqual(40)
  })

  test('goes on asking, as long as it takes, where a verdict tells little', () => {
    const next = numbers(Number(process.env['PALIMPSEST_SEED'] ?? 1))
    const search = searchIn(50, 0.6)
    const ends = Array.from({ length: 20 }, () => {
      const first = search.candidates[next(50)] ?? 0
      return played(search, first, () => next(10) < 6).move.type
    })
    expect(ends.filter((type) => type === 'found').length).toBeGreaterThanOrEqual(18)
  })

  test('asks what is suspected first: a likely candidate is found in two asks', () => {
    const weights = Array.from({ length: 64 }, (_, index) => (index === 40 ? 10_000 : 1))
    const search = searchIn(64, 0.99, weights)
    expect(played(search, search.candidates[40] ?? 0, () => true).asks).toBeLessThanOrEqual(3)
  })

  test('leaves out what is skipped, and says what is left if nothing else can be asked', () => {
    const search = searchIn(4, 1)
    const [a = 0, b = 0, c = 0, d = 0] = search.candidates
    const given: GivenVerdict[] = [
      { position: b, verdict: 'skip' },
      { position: a, verdict: 'good' },
      { position: c, verdict: 'bad' },
    ]
    expect(nextMove(search, given.slice(0, 1))).toMatchObject({ type: 'ask' })
    expect(nextMove(search, given)).toEqual({ type: 'unclear', first: b, last: c, why: 'skipped' })
    expect(
      nextMove(search, [
        { position: a, verdict: 'bad' },
        { position: b, verdict: 'good' },
      ]),
    ).toMatchObject({
      type: 'unclear',
      why: 'contradicting',
    })
    expect(d).toBeGreaterThan(c)
  })

  test('says that all was skipped, with verdicts that may be wrong, too', () => {
    const search = searchIn(5, 0.8)
    const [first, , , , last] = search.candidates
    const given = search.candidates.map((position): GivenVerdict => ({ position, verdict: 'skip' }))
    expect(nextMove(search, given)).toEqual({ type: 'unclear', first, last, why: 'skipped' })
  })

  test('searches among more positions than a call may have arguments', () => {
    const candidates = Array.from({ length: 300_000 }, (_, position) => position)
    const search = { candidates, weights: candidates.map(() => 1), reliability: 0.9 }
    expect(nextMove(search, [])).toMatchObject({ type: 'ask' })
  })

  test('reports what changes more than once as unclear, not as found', () => {
    const search = searchIn(100, 0.9)
    const said = (index: number, verdict: GivenVerdict['verdict'], times: number): readonly GivenVerdict[] =>
      Array.from({ length: times }, () => ({ position: search.candidates[index] ?? 0, verdict }))
    const once = [...said(59, 'good', 25), ...said(60, 'bad', 5)]
    expect(nextMove(search, once)).toMatchObject({ type: 'found', position: search.candidates[60] })
    expect(nextMove(search, [...once, ...said(49, 'bad', 20)])).toEqual({
      type: 'unclear',
      first: search.candidates[49],
      last: search.candidates[59],
      why: 'contradicting',
    })
  })

  test('has probabilities that add up to one, and each verdict moves them its way', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 50 }), fc.nat(), fc.boolean(), (n, nth, isBad) => {
        const search = searchIn(n, 0.8)
        const position = search.candidates[nth % (n - 1)] ?? 0
        const before = probabilities(search, [])
        const after = probabilities(search, [{ position, verdict: isBad ? 'bad' : 'good' }])
        expect(after.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1, 9)
        for (const [index, first] of search.candidates.entries())
          expect((after[index] ?? 0) > (before[index] ?? 0)).toBe(isBad === first <= position)
      }),
      { numRuns: runs(100) },
    )
  })
})
