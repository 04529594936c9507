import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide, decideInSlices } from '../../src/commands/decide.ts'
import { stateOf } from '../../src/commands/state.ts'
import type { ConversationEvent } from '../../src/events/events.ts'
import { diff, diffInSlices } from '../../src/projections/diff.ts'
import { effective } from '../../src/projections/effective.ts'
import { full, fullInSlices, rewindsAt } from '../../src/projections/full.ts'
import { lastOf, path, pathInSlices } from '../../src/projections/path.ts'
import { render, renderInSlices } from '../../src/projections/render/render.ts'
import { atOnce, type SliceGenerator } from '../../src/projections/slices.ts'
import { timeline, timelineInSlices } from '../../src/projections/timeline.ts'
import { histories } from '../support/histories.ts'
import { logOf, rewound, user } from '../support/log.ts'
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
        expect(atOnce(renderInSlices(one, options, length))).toEqual(render(other, options))
      },
    ),
    { numRuns: runs(120) },
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
    [fullInSlices(log, { abandoned: true }), full(log, { abandoned: true })],
    [timelineInSlices(log), timeline(log)],
    [diffInSlices(log, 20, lastOf(log)), diff(log, 20)],
  ] as const
  for (const [sliced, whole] of slices) {
    const { value, pauses } = inPauses<unknown>(sliced)
    expect(value).toEqual(whole)
    expect(pauses).toBeGreaterThan(2)
  }
})

test('no step is as long as the log: neither along a path, nor where a rewind leaves it, nor over what is shown', () => {
  const messages = Array.from({ length: 2_000 }, () => user('Hello.'))
  const log = logOf(...messages)
  const left = logOf(...messages, rewound(0))
  const command = { type: 'condense', summary: 'Greetings.', keepTokens: 50 } as const
  const sliced = [
    [pathInSlices(log, lastOf(log)), path(log), 4],
    // On the way along the log, and on the way back.
    [rewindsAt(left, lastOf(left)), [undefined, ...messages.slice(1).map(() => 2_000), undefined], 7],
    [decideInSlices(command, stateOf('c', log, command)), decide(command, stateOf('c', log, command)), 2_000],
  ] as const
  for (const [slices, whole, least] of sliced) {
    const { value, pauses } = inPauses<unknown>(slices)
    expect(value).toEqual(whole)
    expect(pauses).toBeGreaterThanOrEqual(least)
  }
})

/** What some work comes to, and how often others may do something meanwhile. */
const inPauses = <A>(slices: SliceGenerator<A>): { readonly value: A; readonly pauses: number } => {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = slices.next()
    if (done === true) return { value, pauses }
  }
}
