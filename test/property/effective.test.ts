import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent, View } from '../../src/events/events.ts'
import { diff } from '../../src/projections/diff.ts'
import { effective, evolveEffective } from '../../src/projections/effective.ts'
import { full } from '../../src/projections/full.ts'
import { fold, viewIn, viewOf } from '../../src/projections/layout.ts'
import { type Log, path } from '../../src/projections/path.ts'
import { timeline } from '../../src/projections/timeline.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { fullAt, messagesUnder, moments, type Moment } from '../support/model.ts'
import { runs, scale } from '../support/runs.ts'

/** How many positions of random logs were compared with the model. */
let compared = 0

const everyPosition = (
  logs: fc.Arbitrary<Log>,
  numRuns: number,
  check: (log: Log, at: number, moment: Moment, all: readonly Moment[]) => void,
): void => {
  fc.assert(
    fc.property(logs, (log) => {
      const all = moments(log)
      compared += all.length
      for (const [at, moment] of all.entries()) check(log, at, moment, all)
    }),
    { numRuns: runs(numRuns) },
  )
}

/** A table of contents read as the design says: a range stands for the messages of the path from its first through its last. */
const contentsOf = ({ items }: View, moment: Moment, log: Log): readonly number[] =>
  items.flatMap((item) =>
    'marker' in item
      ? [item.marker]
      : moment.path.filter(
          (position) =>
            log[position]?.type === 'MessageAppended' && item.first <= position && position <= item.last,
        ),
  )

const positionsOf = (list: readonly { readonly position: number }[]): readonly number[] =>
  list.map(({ position }) => position)

describe.each([
  ['logs that commands wrote', histories(), 300],
  ['logs of any events', rawLogs(), 300],
])('%s', (_, logs, numRuns) => {
  it('show at every position what the model shows', () => {
    everyPosition(logs, numRuns, (log, at, moment) => {
      const { items, head, layout } = effective(log, at)
      expect(positionsOf(items)).toEqual(positionsOf(moment.items))
      expect([at, head, layout.configured]).toEqual([at, moment.head, moment.configured])
      expect(path(log, at)).toEqual(moment.path)
    })
  })

  it('go on from any earlier position as if folded from the start, up to a rewind or a restore', () => {
    everyPosition(logs, numRuns / 4, (log, at) => {
      const before = effective(log, at)
      const after = log.slice(at + 1, at + 5)
      const jumps = after.some(({ type }) => type === 'Rewound' || type === 'Restored')
      const wanted = after.length > 0 ? effective(log, at + after.length) : before
      expect(evolveEffective(before, after)).toEqual(jumps ? undefined : wanted)
    })
  })

  it('have the full history of the model, with and without what was abandoned', () => {
    everyPosition(logs, numRuns, (log, at, _moment, all) => {
      for (const abandoned of [false, true]) {
        const entries = full(log, { at, abandoned })
        const fates = entries.map(({ position, status, by }) => ({
          position,
          status,
          ...(by !== undefined && { by }),
        }))
        expect(fates).toEqual(fullAt(log, all, at, abandoned))
      }
    })
  })

  it('have a view at every position that, read as a table of contents, is the effective history', () => {
    everyPosition(logs, numRuns, (log, at, moment) => {
      const view = viewOf(fold(log, at).layout)
      expect(contentsOf(view, moment, log)).toEqual(positionsOf(moment.items))
      expect(view.configured).toBe(moment.configured)
    })
  })

  it('differ between two positions by what one effective history has and the other has not', () => {
    fc.assert(
      fc.property(logs, fc.nat(), fc.nat(), (log, one, other) => {
        const [from, to] = [one % log.length, other % log.length]
        const { changes } = diff(log, from, to)
        const without = (left: string): readonly number[] =>
          changes.flatMap(({ change, entry }) => (change === left ? [] : [entry.position]))
        const all = moments(log)
        expect(without('appeared')).toEqual(positionsOf(all[from]?.items ?? []))
        expect(without('disappeared')).toEqual(positionsOf(all[to]?.items ?? []))
      }),
      { numRuns: runs(numRuns) },
    )
  })

  it('have a timeline that marks the path and names what each event follows', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const all = moments(log)
        const onPath = new Set(all.at(-1)?.path)
        for (const { event, parent, onPath: isOn } of timeline(log)) {
          const { position } = event
          expect([position, isOn]).toEqual([position, onPath.has(position)])
          const follows = event.type === 'Rewound' ? all[position]?.head : (all[position - 1]?.head ?? -1)
          expect([position, parent]).toEqual([position, follows])
        }
      }),
      { numRuns: runs(numRuns) },
    )
  })
})

describe('logs that commands wrote', () => {
  it('carry views that are the layout right after the event', () => {
    let carried = 0
    everyPosition(histories(), 480, (log, at) => {
      const view = viewIn(log[at] as ConversationEvent)
      if (!view) return
      carried++
      expect(view).toEqual(viewOf(fold(log, at).layout))
    })
    expect(carried).toBeGreaterThan(0)
  })

  it('count in every marker the messages that it hides at all levels', () => {
    everyPosition(histories(), 240, (log, at, moment) => {
      const event = log[at]
      if (event?.type !== 'Condensed' && event?.type !== 'Truncated') return
      const item = moment.items.find(({ position }) => position === at)
      expect(item && messagesUnder(item).length).toBe(event.data.messagesHidden)
    })
  })

  it('never lose a message: with what was abandoned, the full history has every one', () => {
    fc.assert(
      fc.property(histories(), (log) => {
        const said = log.filter(({ type }) => type === 'MessageAppended')
        const entries = full(log, { abandoned: true }).filter(({ kind }) => kind === 'message')
        expect(positionsOf(entries)).toEqual(positionsOf(said))
      }),
      { numRuns: runs(240) },
    )
  })
})

it('more than thirty thousand positions were compared with the model', () => {
  expect(compared).toBeGreaterThan(30_000 * scale)
})
