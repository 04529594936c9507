import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clippedItem } from '../../src/projections/clip.ts'
import { effective } from '../../src/projections/effective.ts'
import { type Entry, full } from '../../src/projections/full.ts'
import { type Log, path } from '../../src/projections/path.ts'
import { render } from '../../src/projections/render/renderer.ts'
import { lengthOf } from '../../src/ui/conversation/kinds.ts'
import { paths } from '../../src/ui/conversation/path.ts'
import {
  entriesHiddenBy,
  type SectionEntries,
  pieceWith,
  type HistoryRow,
  rowsOf,
  type RowsInput,
  stateOf,
} from '../../src/ui/conversation/rows.ts'
import { histories } from '../support/histories.ts'
import { assistant, compacted, logOf, restored, rewound, text, user } from '../support/log.ts'

const rewindsOf = (log: Log) =>
  log.flatMap(({ type, position, data }) => (type === 'Rewound' ? [{ position, to: data.to }] : []))
const restoresOf = (log: Log) =>
  log.flatMap(({ type, position, data }) => (type === 'Restored' ? [{ position, marker: data.marker }] : []))

/** What the page has when it has fetched all that is open. */
const shownAt = (log: Log, at: number, open: RowsInput['isOpen'] = () => true): RowsInput => {
  const entries = full(log, { at, abandoned: true })
  const known = paths(rewindsOf(log))
  const jumps = new Map(known.jumps(at).map((jump) => [jump.from, jump]))
  const pieceOf = (position: number): SectionEntries => {
    const jump = jumps.get(position)
    const inside = jump
      ? entries.filter((entry) => jump.from <= entry.position && entry.position <= jump.to)
      : entriesHiddenBy(
          entries.filter((entry) => entry.position <= position),
          position,
        )
    return { entries: inside, hasMore: false }
  }
  const { items } = effective(log, at)
  return { at, items, paths: known, restores: restoresOf(log), isOpen: open, pieceOf }
}

/** What became of what a row shows on its left, as `full` says it. */
const fateOf = (row: HistoryRow): readonly Pick<Entry, 'position' | 'status' | 'by'>[] => {
  switch (row.kind) {
    case 'same':
    case 'group':
      return [{ position: row.position, status: 'active' }]
    case 'hidden':
    case 'abandoned': {
      const { position, status, by } = row.entry
      return [{ position, status, ...(by !== undefined && { by }) }]
    }
    case 'restored':
      return [{ position: row.position, status: 'restored', by: row.by }]
    case 'jump':
    case 'more':
    case 'repair':
      return []
  }
}

const scenes = fc
  .tuple(histories(), fc.nat())
  .map(([log, picked]) => ({ log, at: picked % Math.max(1, log.length) }))

describe('the rows', () => {
  test('show on the left the full history, each entry once, with its state and the reason', () => {
    fc.assert(
      fc.property(scenes, ({ log, at }) => {
        const rows = rowsOf(shownAt(log, at))
        const fates = rows.flatMap(fateOf).toSorted((one, other) => one.position - other.position)
        const expected = full(log, { at, abandoned: true }).map(({ position, status, by }) => ({
          position,
          status,
          ...(by !== undefined && { by }),
        }))
        expect(fates).toEqual(expected)
      }),
      { numRuns: 200 },
    )
  })

  test('show on the right the effective history, in its order, however much is open', () => {
    fc.assert(
      fc.property(scenes, fc.func(fc.boolean()), ({ log, at }, isOpen) => {
        const rows = rowsOf(shownAt(log, at, isOpen))
        const seen = rows.flatMap((row) => (row.kind === 'same' || row.kind === 'group' ? [row.item] : []))
        expect(seen).toEqual(effective(log, at).items)
      }),
      { numRuns: 200 },
    )
  })

  test('are closed as many as there are items, jumps outside of groups and markers that were taken back', () => {
    fc.assert(
      fc.property(scenes, ({ log, at }) => {
        const rows = rowsOf(shownAt(log, at, () => false))
        const { items } = effective(log, at)
        expect(rows.filter(({ kind }) => kind === 'same' || kind === 'group')).toHaveLength(items.length)
        expect(rows.filter(({ kind }) => kind === 'hidden' || kind === 'abandoned')).toEqual([])
      }),
    )
  })

  test('name a marker in an open group as hidden itself', () => {
    const log = logOf(user('one'), user('two'), compacted(0, 1), user('three'), compacted(2, 3), user('four'))
    const rows = rowsOf(shownAt(log, 5))
    expect(rows.map((row) => [row.kind, row.position, stateOf(row)])).toEqual([
      ['group', 4, 'summary'],
      ['hidden', 0, 'hidden, condensed by 2'],
      ['hidden', 1, 'hidden, condensed by 2'],
      ['hidden', 2, 'hidden, condensed by 4'],
      ['hidden', 3, 'hidden, condensed by 4'],
      ['same', 5, 'seen by the model'],
    ])
  })

  test('say what a rewind left, and what a restore took back', () => {
    const log = logOf(
      user('one'),
      assistant('no'),
      rewound(0),
      assistant('yes'),
      compacted(0, 3),
      restored(4),
    )
    const rows = rowsOf(shownAt(log, 5, (position) => position === 1))
    expect(rows.map((row) => [row.kind, row.position, stateOf(row)])).toEqual([
      ['same', 0, 'seen by the model'],
      ['jump', 1, 'abandoned by the rewind at 2'],
      ['abandoned', 1, 'abandoned by the rewind at 2'],
      ['same', 3, 'seen by the model'],
      ['restored', 4, 'taken back by the restore at 5'],
    ])
  })

  test('say where the request differs from what is shown', () => {
    const log = logOf(user('one'), user('two'))
    const { repairs } = render(effective(log))
    expect(repairs.map(({ kind }) => kind)).toEqual(['roles-merged'])
    const rows = rowsOf({ ...shownAt(log, 1), repairs })
    expect(rows.map(({ kind, position }) => [kind, position])).toEqual([
      ['same', 0],
      ['same', 1],
      ['repair', 1],
    ])
    const elsewhere = rowsOf({ ...shownAt(log, 1), repairs: repairs.map((one) => ({ ...one, position: 9 })) })
    expect(elsewhere.at(-1)).toMatchObject({ kind: 'repair', position: 9 })
  })

  test('of a group that is open come before what is repaired in its place', () => {
    const log = logOf(user('one'), assistant('two'), compacted(0, 1), user('three'))
    const repair = { kind: 'roles-merged', position: 2, detail: 'joined' } as const
    const kindsOf = (open: boolean) =>
      rowsOf({ ...shownAt(log, 3, () => open), repairs: [repair] }).map(({ kind }) => kind)
    expect(kindsOf(true)).toEqual(['group', 'hidden', 'hidden', 'repair', 'same'])
    expect(kindsOf(false)).toEqual(['group', 'repair', 'same'])
  })

  test('of a group of which only the end is loaded begin with what is missing', () => {
    const log = logOf(user('one'), user('two'), user('three'), compacted(0, 2))
    const shown = shownAt(log, 3)
    const rows = rowsOf({
      ...shown,
      pieceOf: () => ({ entries: full(log, { at: 3 }).slice(1, 3), hasMore: true }),
    })
    expect(rows.map(({ kind, position }) => [kind, position])).toEqual([
      ['group', 3],
      ['more', 3],
      ['hidden', 1],
      ['hidden', 2],
    ])
  })
})

describe('the entries of an open group', () => {
  test('come page by page, and stay when its end is fetched again', () => {
    fc.assert(
      fc.property(scenes, fc.integer({ min: 1, max: 5 }), ({ log, at }, size) => {
        for (const { kind, position } of effective(log, at).items) {
          if (kind === 'message') continue
          const one = { position, before: position, from: 0, isGroup: true }
          let piece: SectionEntries | undefined
          const fetched = (until: number): number => {
            const items = full(log, { at, abandoned: true, before: until, last: size })
            piece = pieceWith(piece, one, { items, until, isFull: items.length === size })
            return items[0]?.position ?? 0
          }
          for (let until = fetched(position); until > 0;) until = fetched(until)
          const all = full(log, { at, abandoned: true, before: position })
          expect(piece).toEqual({ entries: entriesHiddenBy(all, position), hasMore: false })
          const before = piece
          fetched(position)
          expect(piece).toEqual(before)
        }
      }),
      { numRuns: 200 },
    )
  })

  test('say that there is more before a page that is full, and of what a rewind left take no others', () => {
    const log = logOf(user('0'), user('1'), user('2'), compacted(0, 2))
    const items = full(log, { at: 3, before: 3, last: 2 })
    const group = { position: 3, before: 3, from: 0, isGroup: true }
    expect(pieceWith(undefined, group, { items, until: 3, isFull: true })).toEqual({
      entries: items,
      hasMore: true,
    })
    const jump = { position: 2, before: 3, from: 2, isGroup: false }
    expect(pieceWith(undefined, jump, { items, until: 3, isFull: true })).toEqual({
      entries: items.slice(1),
      hasMore: false,
    })
  })
})

describe('the path', () => {
  test('is what the library says, as stretches', () => {
    fc.assert(
      fc.property(scenes, ({ log, at }) => {
        const stretches = paths(rewindsOf(log)).stretches(at)
        const positions = stretches.flatMap(({ from, to }) =>
          Array.from({ length: to - from + 1 }, (_, index) => from + index),
        )
        expect(positions).toEqual(path(log, at))
      }),
    )
  })

  test('leaves out what it jumps over, each event with the last rewind that left it', () => {
    const log = logOf(user('0'), user('1'), user('2'), rewound(0), user('4'), rewound(2), user('6'))
    expect(paths(rewindsOf(log)).jumps(6)).toEqual([{ from: 4, to: 4, by: 5 }])
    expect(paths(rewindsOf(log)).jumps(4)).toEqual([{ from: 1, to: 2, by: 3 }])
    expect(paths([]).jumps(4)).toEqual([])
    expect(paths([]).jumps(-1)).toEqual([])
  })
})

test('a message is as long as the whole of it, however little of it is there', () => {
  const texts = fc.array(fc.string({ minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 50 }), (said, clip) => {
      const { items } = effective(logOf(assistant(said.map((one) => text(one)))), 0)
      const [item] = items
      if (item) expect(lengthOf(clippedItem(item, clip))).toBe(lengthOf(item))
      if (item) expect(lengthOf(item, clip)).toBeGreaterThanOrEqual(Math.min(clip, lengthOf(item)))
    }),
  )
})
