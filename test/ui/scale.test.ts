import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore } from '../../src/index.ts'
import { apiPathOf } from '../../src/server/client/api-path.ts'
import { serve } from '../../src/server/serve.ts'
import { overviewAt, scaleOf } from '../../src/ui/conversation/ribbon/scale.ts'
import type { OutlineResponse, OverviewResponse } from '../../src/ui/source/answers.ts'
import { callNameAt, mayRewindBefore, stepFrom } from '../../src/ui/conversation/steps.ts'
import { httpSource } from '../../src/ui/source/http.ts'
import { atEnd } from '../support/at-end.ts'

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

  test('leads to the request of the call that a reply answers', async () => {
    const store = await openStore('memory:')
    const { url, close } = await serve({ store, port: 0 })
    atEnd(store.close, close)
    await loadSample(store)
    const [id] = sampleIds
    const source = httpSource({ base: `${url}/api/v1` })
    const all: OutlineResponse = await source.get(apiPathOf('/conversations/{id}/outline', { id: id ?? '' }))
    // Before and after a call that made a summary.
    for (const position of [-1, 25, 30, 40]) {
      const reply = stepFrom(all, position, 'call', 1) ?? -1
      const name = (await callNameAt(source, id, reply)) ?? ''
      expect(
        await source.get(apiPathOf('/conversations/{id}/calls/{call}', { id: id ?? '', call: name })),
      ).toMatchObject({ position: reply })
    }
    expect(await callNameAt(source, id, 0)).toBeUndefined()
  })

  test('knows whether rewinds may lie before a part', () => {
    const long: OverviewResponse = {
      last: 299,
      indexed: 299,
      buckets: 3,
      first: [0, 100, 200],
      min: [],
      max: [],
      kinds: {},
      markers: [],
      rewinds: [0, 2, 0],
      failed: [],
      retries: [],
    }
    expect([0, 100, 101, 250].map((from) => mayRewindBefore(from, long))).toEqual([false, false, true, true])
    expect([mayRewindBefore(0, undefined), mayRewindBefore(1, undefined)]).toEqual([false, true])
  })
})
