import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { overviewAt, scaleOf } from '../../src/ui/conversation/scale.ts'
import { callAt, stepFrom } from '../../src/ui/conversation/steps.ts'

const places = fc
  .tuple(
    fc.nat(2_000_000),
    fc.integer({ min: 200, max: 3_000 }),
    fc.nat(),
    fc.option(fc.nat(2_000_000), { nil: undefined }),
  )
  .map(([last, width, picked, before]) => ({ last, width, position: picked % (last + 1), before }))

describe('the ribbon', () => {
  test('shows the position, in bars that are neither noise nor slabs', () => {
    fc.assert(
      fc.property(places, ({ last, width, position, before }) => {
        const scale = scaleOf(last, width, position, before)
        expect(scale.first).toBeLessThanOrEqual(position)
        expect(scale.last).toBeGreaterThanOrEqual(position)
        expect(scale.first).toBeGreaterThanOrEqual(0)
        expect(scale.last).toBeLessThanOrEqual(last)
        expect(scale.step).toBeGreaterThanOrEqual(1.4)
        expect(scale.step).toBeLessThanOrEqual(28)
        expect(scale.x(scale.last + 1)).toBeLessThanOrEqual(width + 0.001)
        expect(scale.at(scale.x(position) + scale.step / 2)).toBe(position)
      }),
    )
  })

  test('shows a short conversation whole, and of a long one a window that stands still while one moves inside of it', () => {
    expect(scaleOf(290, 1_400, 3)).toMatchObject({ first: 0, last: 290 })
    const { first } = scaleOf(1_000_000, 1_400, 500_000)
    expect(scaleOf(1_000_000, 1_400, 500_300, first).first).toBe(first)
    expect(scaleOf(1_000_000, 1_400, 500_480, first).first).not.toBe(first)
    expect(scaleOf(1_000_000, 1_400, 1_000_000).last).toBe(1_000_000)
  })

  test('has an overview on which a position lies where its part is', () => {
    const first = Array.from({ length: 10 }, (_, index) => index * 100)
    expect(overviewAt(first, 999, 0)).toBe(0)
    expect(overviewAt(first, 999, 250)).toBeCloseTo(0.25)
    expect(overviewAt(first, 999, 999)).toBeCloseTo(0.999)
  })
})

describe('a step', () => {
  const outline = { from: 10, kinds: 'ucrauCaW' } as Parameters<typeof stepFrom>[0]

  test('leads to the next turn, mark or call', () => {
    expect(stepFrom(outline, 10, 'turn', 1)).toBe(14)
    expect(stepFrom(outline, 14, 'turn', -1)).toBe(10)
    expect(stepFrom(outline, 10, 'mark', 1)).toBe(15)
    expect(stepFrom(outline, 15, 'mark', 1)).toBe(17)
    expect(stepFrom(outline, 11, 'call', 1)).toBe(13)
    expect(stepFrom(outline, 10, 'turn', -1)).toBeUndefined()
    expect(stepFrom(outline, 17, 'mark', 1)).toBeUndefined()
  })

  test('knows the number of a call', () => {
    expect([callAt([11, 13], 13), callAt([11, 13], 12), callAt([], 1)]).toEqual([2, undefined, undefined])
  })
})
