import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ConversationEvent } from '../../src/events/events.ts'
import { diff, diffing } from '../../src/projections/diff.ts'
import { effective } from '../../src/projections/effective.ts'
import { full, fulling } from '../../src/projections/full.ts'
import { lastOf } from '../../src/projections/path.ts'
import { render, rendering } from '../../src/projections/render/render.ts'
import { atOnce } from '../../src/projections/slices.ts'
import { timeline, timing } from '../../src/projections/timeline.ts'
import { histories } from '../support/histories.ts'
import { runs } from '../support/runs.ts'

test('a request that is made in slices is the one that is made at once', () => {
  fc.assert(
    fc.property(
      histories(60),
      fc.record({ systemMessages: fc.boolean(), truncationNotes: fc.boolean(), prefill: fc.boolean() }),
      fc.integer({ min: 1, max: 9 }),
      (log, options, length) => {
        // What is remembered of one history must not help the other.
        const [one, other] = [effective(structuredClone(log)), effective(structuredClone(log))]
        expect(atOnce(rendering(one, options, length))).toEqual(render(other, options))
      },
    ),
    { numRuns: runs(200) },
  )
})

const metadata = { schema: 1, time: '', actor: { kind: 't' }, commandId: 'c', prev: null }

test('who reads a long log in slices may do something else in between, and gets the same', () => {
  const log = Array.from({ length: 2_000 }, (_, position): ConversationEvent => {
    const place = { position, id: `${position}`, metadata }
    return position % 7 === 6
      ? { ...place, type: 'Rewound', data: { to: position - 3 } }
      : { ...place, type: 'MessageAppended', data: { role: 'user', content: [] } }
  })
  const slices = [
    [fulling(log, { abandoned: true }), full(log, { abandoned: true })],
    [timing(log), timeline(log)],
    [diffing(log, 20, lastOf(log)), diff(log, 20)],
  ] as const
  for (const [sliced, whole] of slices) {
    let pauses = 0
    for (;;) {
      const { done, value } = sliced.next()
      if (done === true) {
        expect(value).toEqual(whole)
        break
      }
      pauses++
    }
    expect(pauses).toBeGreaterThan(2)
  }
})
