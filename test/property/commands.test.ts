import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { decode, encode } from '../../src/events/codec.ts'
import type { ConversationCommand } from '../../src/commands/command.ts'
import { decide } from '../../src/commands/decide.ts'
import { stateOf } from '../../src/commands/state.ts'
import { effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { fillers } from '../../src/projections/render/page.ts'
import { render } from '../../src/projections/render/render.ts'
import { apply, histories, selections } from '../support/histories.ts'
import { eventAt } from '../support/log.ts'
import { messagesUnder, moments } from '../support/model.ts'
import { runs } from '../support/runs.ts'

const shown = (log: Log): readonly number[] => effective(log).items.map(({ position }) => position)

/** What the model makes of the log's last position: everything that a rewind has to bring back. */
const standing = (log: Log): unknown => {
  const { items, configured } = moments(log).at(-1) ?? { items: [] }
  return { items, configured }
}

describe('every history', () => {
  it('is as it was after a rewind and an undo', () => {
    fc.assert(
      fc.property(histories(), fc.nat(), (log, where) => {
        const back = apply(log, { type: 'rewind', to: (where % (log.length + 1)) - 1 })
        if (back === log) return
        const again = apply(back, { type: 'undo' })
        expect(again.length).toBe(log.length + 2)
        expect(standing(again)).toEqual(standing(log))
        expect(render(effective(again))).toEqual(render(effective(log)))
        const redone = apply(again, { type: 'undo' })
        expect(standing(redone)).toEqual(standing(back))
      }),
      { numRuns: runs(420) },
    )
  })

  it('is as it was after hiding or restoring something and an undo', () => {
    fc.assert(
      fc.property(histories(), selections, fc.boolean(), (log, selection, isCondense) => {
        const hidden = apply(
          log,
          isCondense ? { type: 'condense', summary: 'S.', ...selection } : { type: 'truncate', ...selection },
        )
        if (hidden === log) return
        expect(standing(apply(hidden, { type: 'undo' }))).toEqual(standing(log))
        const restored = apply(hidden, { type: 'restore', marker: hidden.length - 1 })
        expect(shown(restored)).toEqual(shown(log))
        expect(standing(apply(restored, { type: 'undo' }))).toEqual(standing(hidden))
      }),
      { numRuns: runs(420) },
    )
  })

  it('holds only events that a store can write and read again', () => {
    fc.assert(
      fc.property(histories(), (log) => {
        for (const event of log) {
          const { id, position, metadata } = event
          const salt = 'AbCdEfGhIjKlMnOpQrSt_-'
          const decoded = E.flatMap((stored: Parameters<typeof decode>[0]) =>
            decode(stored, { stream: 's', revision: position, position }),
          )(encode(event, id, { ...metadata, salt }))
          expect(decoded).toEqual(E.right({ ...event, metadata: { ...metadata, salt } }))
        }
      }),
      { numRuns: runs(180) },
    )
  })
})

/** How many calls of a message are answered by fillers, and how many of its results are dropped. */
const mended = (log: Log): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  for (const { kind, position } of render(effective(log)).repairs)
    if (kind === 'call-answered' || kind === 'result-dropped')
      counts.set(position, (counts.get(position) ?? 0) + 1)
  return counts
}

/** Positions from the message with the oldest call that still waits for its result on; none, if no call waits. */
const openRound = (log: Log): readonly number[] => {
  const request = render(effective(log))
  const last = request.messages.at(-1)
  const waiting =
    last?.content.findLast(({ type }) => type === 'tool_result')?.['content'] === fillers.noResult
  if (!waiting || last?.content.at(-1)?.type !== 'tool_result') return []
  const positions = shown(log)
  const fillings = request.repairs.filter(({ kind }) => kind === 'call-answered').toReversed()
  const trailing = last.content.toReversed().findIndex((block) => block['content'] !== fillers.noResult)
  const count = trailing < 0 ? last.content.length : trailing
  const oldest = fillings.slice(0, count).map(({ position }) => positions.indexOf(position))
  return positions.slice(Math.min(...oldest))
}

describe('condense and truncate without covers', () => {
  const commandOf = (selection: object, isCondense: boolean): ConversationCommand =>
    isCondense
      ? { type: 'condense', summary: 'A summary.', ...selection }
      : { type: 'truncate', ...selection }
  const onEvery = (
    numRuns: number,
    check: (log: Log, after: Log, command: ConversationCommand) => void,
  ): void => {
    fc.assert(
      fc.property(histories(), selections, fc.boolean(), (log, selection, isCondense) => {
        const command = commandOf(selection, isCondense)
        const after = apply(log, command)
        if (after !== log) check(log, after, command)
      }),
      { numRuns: runs(numRuns) },
    )
  }

  it('part no call from its result', () => {
    let seen = 0
    onEvery(900, (log, after) => {
      const before = mended(log)
      for (const [position, count] of mended(after)) {
        if (position >= log.length) continue
        seen++
        expect(count, `at ${position}`).toBeLessThanOrEqual(before.get(position) ?? 0)
      }
    })
    expect(seen).toBeGreaterThan(0)
  })

  it('leave a tool round that is still open as it is', () => {
    onEvery(900, (log, after) => {
      expect(shown(after)).toEqual(expect.arrayContaining([...openRound(log)]))
    })
  })

  it('hide something that was shown, and never only what was truncated already', () => {
    onEvery(600, (log, after) => {
      expect(after.length).toBe(log.length + 1)
      const marker = moments(after)
        .at(-1)
        ?.items.find(({ position }) => position === log.length)
      expect(marker?.hides.flatMap(messagesUnder).length).toBeGreaterThan(0)
      const kinds = marker?.hides.map(({ position }) => log[position]?.type)
      if (after.at(-1)?.type === 'Truncated') expect(kinds).not.toEqual(kinds?.map(() => 'Truncated'))
    })
  })

  it('keep the first message by default, however often', () => {
    fc.assert(
      fc.property(histories(), fc.array(selections, { maxLength: 5 }), (log, all) => {
        const [first] = effective(log).items
        let now = log
        for (const { keepFirst: _, ...selection } of all) now = apply(now, { type: 'truncate', ...selection })
        if (first?.kind === 'message') expect(shown(now)[0]).toBe(first.position)
      }),
      { numRuns: runs(420) },
    )
  })

  it('keep the first and last messages that they are told to keep, where an open round or a safe cut allows', () => {
    let seen = 0
    onEvery(600, (log, after, command) => {
      if (command.type !== 'truncate') return
      const { items } = effective(log)
      const kept = command.keepFirst ?? 1
      const beginning = items.slice(0, kept)
      if (!beginning.every(({ kind }) => kind === 'message')) return
      seen++
      expect(shown(after).slice(0, beginning.length)).toEqual(beginning.map(({ position }) => position))
    })
    expect(seen).toBeGreaterThan(0)
  })
})

describe('condense and truncate with covers', () => {
  it('take the slice as it is or refuse it, and part no call from its result by an edit either', () => {
    const anySlice = fc.tuple(histories(), fc.nat(), fc.nat(3), fc.nat(3))
    fc.assert(
      fc.property(anySlice, ([log, from, length, kind]) => {
        const items = shown(log)
        const [first, last] = [
          items[from % Math.max(1, items.length)],
          items[(from % Math.max(1, items.length)) + length],
        ]
        if (first === undefined || last === undefined) return
        const covers = { first, last }
        const texts = [{ type: 'text' as const, text: 'Instead.' }]
        const after = apply(
          log,
          kind === 0
            ? { type: 'truncate', covers }
            : {
                type: 'condense',
                covers,
                summary: kind === 1 ? 'S.' : [{ role: kind === 2 ? 'user' : 'assistant', content: texts }],
              },
        )
        if (after === log) return
        const before = mended(log)
        for (const [position, count] of mended(after))
          if (position < log.length)
            expect(count, `at ${position}`).toBeLessThanOrEqual(before.get(position) ?? 0)
        expect(shown(after)).toEqual(
          items.flatMap((item, index) =>
            item === first
              ? [log.length]
              : index > items.indexOf(first) && index <= items.indexOf(last)
                ? []
                : [item],
          ),
        )
      }),
      { numRuns: runs(900) },
    )
  })
})

describe('decide', () => {
  it('is a function of the log: the same command on a copy of the log gives the same events', () => {
    fc.assert(
      fc.property(histories(), selections, (log, selection) => {
        const command: ConversationCommand = { type: 'truncate', ...selection }
        const copy = log.map(({ position, type, data }) =>
          eventAt(JSON.parse(JSON.stringify({ type, data })), position),
        )
        expect(decide(command, stateOf('c', copy, command))).toEqual(
          decide(command, stateOf('c', log, command)),
        )
      }),
      { numRuns: runs(180) },
    )
  })
})
