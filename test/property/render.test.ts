import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDeepStrictEqual } from 'node:util'
import { contentOf } from '../../src/events/events.ts'
import { effective, evolveEffective } from '../../src/projections/effective.ts'
import { render, type RenderOptions } from '../../src/projections/render/render.ts'
import { fillers } from '../../src/projections/render/page.ts'
import { casesOf } from '../support/history-predicates.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { moments } from '../support/model.ts'
import { violations } from '../support/predicates.ts'
import { runs } from '../support/runs.ts'

describe('the request at every position of every log', () => {
  it.each([
    ['by default', {}, histories(), 120],
    ['with system messages', { systemMessages: true }, histories(), 70],
    ['without notes', { truncationNotes: false }, histories(), 70],
    ['for a prefill', { prefill: true }, histories(), 70],
    ['with cache breakpoints', { cache: '5m' }, histories(), 90],
    [
      'with cache breakpoints of an hour',
      { cache: '1h', systemMessages: true, prefill: true },
      histories(),
      90,
    ],
    ['of logs of any events', {}, rawLogs(), 180],
  ] as const)('passes the eighteen predicates %s', (_, options, logs, numRuns) => {
    fc.assert(
      fc.property(logs, (log) => {
        for (const [at, request] of casesOf(log, moments(log), options).entries())
          expect(violations(request), `at ${at}`).toEqual([])
      }),
      { numRuns: runs(numRuns) },
    )
  })
})

describe('a history that goes on', () => {
  const options: fc.Arbitrary<RenderOptions> = fc.record(
    {
      systemMessages: fc.boolean(),
      truncationNotes: fc.boolean(),
      prefill: fc.boolean(),
      cache: fc.constantFrom('5m', '1h'),
    },
    { requiredKeys: [] },
  )
  /** The bytes of a request; what it shares with the requests before it is not seen. */
  const bytes = (...given: Parameters<typeof render>): string => JSON.stringify(render(...given))

  it('gives the requests that it would give if it were read anew, whatever was rendered before', () => {
    fc.assert(
      fc.property(
        fc.oneof(histories(), rawLogs()),
        fc.array(options, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(7), { minLength: 1, maxLength: 40 }),
        (log, all, back) => {
          const seen = [effective(log, -1)]
          for (const [at, event] of log.entries()) {
            const before = seen.at(-1) as (typeof seen)[0]
            seen.push(evolveEffective(before, [event]) ?? effective(log, at))
            // Now and then an earlier moment is looked at again.
            for (const steps of [0, back[at % back.length] ?? 0]) {
              const index = Math.max(0, seen.length - 1 - steps)
              const moment = seen[index] as (typeof seen)[0]
              const chosen = all[(at + steps) % all.length]
              expect(bytes(moment, chosen)).toBe(bytes(effective(log, index - 1), chosen))
            }
          }
        },
      ),
      { numRuns: runs(180) },
    )
  })

  it('leaves requests as they were that were rendered of it', () => {
    fc.assert(
      fc.property(histories(), (log) => {
        let moment = effective(log, -1)
        const rendered = log.map((event, at) => {
          moment = evolveEffective(moment, [event]) ?? effective(log, at)
          const request = render(moment)
          return { request, json: JSON.stringify(request) }
        })
        for (const { request, json } of rendered) expect(JSON.stringify(request)).toBe(json)
      }),
      { numRuns: runs(120) },
    )
  })
})

describe('the repairs of every request', () => {
  it('leave nothing out: what an event has no repair for is rendered as it is stored, in its order', () => {
    fc.assert(
      fc.property(histories(), (log) => {
        const { items } = effective(log)
        const { messages, repairs } = render(effective(log))
        const repaired = new Set(repairs.map(({ position }) => position))
        // One repair, of the compaction, speaks for all that stands before it.
        const compacted = repairs.findLast(({ detail }) =>
          detail.endsWith('before the compaction are left out'),
        )
        const begin = items.findIndex(({ position }) => position === compacted?.position)
        let rest = messages
          .flatMap(({ role, content }) => content.map((block) => ({ role, block })))
          .filter(({ block }) => block['content'] !== fillers.noResult)
        for (const { position } of items.slice(Math.max(0, begin))) {
          const event = log[position]
          if (!event || repaired.has(position)) continue
          const blocks = contentOf(event).flatMap(({ role, content }) =>
            content.map((block) => ({ role, block })),
          )
          const at = rest.findIndex((_, index) =>
            isDeepStrictEqual(rest.slice(index, index + blocks.length), blocks),
          )
          if (blocks.length > 0) expect(at, `the blocks of ${position}`).toBeGreaterThanOrEqual(0)
          rest = rest.slice(at + blocks.length)
        }
      }),
      { numRuns: runs(300) },
    )
  })

  it('say all that was put in: a block that nobody said has a repair', () => {
    fc.assert(
      fc.property(histories(), (log) => {
        const { messages, repairs } = render(effective(log), { truncationNotes: false })
        const stored = effective(log).items.flatMap(({ position }) => {
          const event = log[position]
          return event ? contentOf(event).flatMap(({ content }) => content) : []
        })
        const kinds = new Set(repairs.map(({ kind }) => kind))
        if (kinds.size === 0) expect(messages.flatMap(({ content }) => content)).toEqual(stored)
        const shown = messages.flatMap(({ content }) => content).length
        const inserted = repairs.filter(
          ({ kind }) => kind === 'call-answered' || kind === 'message-inserted' || kind === 'result-as-text',
        ).length
        expect(shown - inserted).toBeLessThanOrEqual(stored.length)
      }),
      { numRuns: runs(300) },
    )
  })
})
