import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  commonUntil,
  compareRows,
  type CompareItem,
  moveBy,
  outcomeOf,
  turnEnds,
} from '../../src/ui/compare/rows.ts'
import { systemText, toolChanges } from '../../src/ui/diff/configuration.ts'
import { excerptOf, inkOf, kindOf } from '../../src/ui/diff/excerpt.ts'
import {
  causesOf,
  type DiffRowChange,
  diffRows,
  type DiffRowEntry,
  foldRow,
  stretchesOf,
  sumsOf,
} from '../../src/ui/diff/rows.ts'
import { wordsChanged } from '../../src/ui/diff/words.ts'
import { runs } from '../support/runs.ts'

const entry = (position: number, more: Partial<DiffRowEntry> = {}): DiffRowEntry => ({
  kind: 'message',
  position,
  ...more,
})
const change = (
  kind: DiffRowChange['change'],
  position: number,
  more: Partial<DiffRowEntry> = {},
): DiffRowChange => ({
  change: kind,
  entry: entry(position, more),
})
const hidden = { status: 'condensed', by: 147 }

test('what left for the same reason is one row', () => {
  const changes = [
    change('kept', 0),
    change('disappeared', 1, hidden),
    change('disappeared', 2, hidden),
    change('disappeared', 9, { status: 'truncated', by: 12 }),
    change('appeared', 147, { kind: 'summary' }),
    change('appeared', 148),
    change('kept', 149),
  ]
  expect(diffRows(changes).map((row) => [row.kind, 'entries' in row ? row.entries.length : 1])).toEqual([
    ['kept', 1],
    ['left', 2],
    ['left', 1],
    ['came', 2],
    ['kept', 1],
  ])
  expect(sumsOf(changes)).toEqual({ left: 3, came: 2, kept: 2 })
  expect([...causesOf(changes)]).toEqual([147, 12])
})

test('a message that was edited in place is one row with both', () => {
  const edit = { kind: 'summary', messagesHidden: 1, covers: { first: 4, last: 4 } } as const
  const rows = diffRows([
    change('disappeared', 4, { status: 'condensed', by: 8 }),
    change('appeared', 8, edit),
  ])
  expect(rows).toMatchObject([{ kind: 'changed', before: { position: 4 }, after: { position: 8 } }])
})

test('a summary of several messages is not an edit', () => {
  const summary = { kind: 'summary', messagesHidden: 2, covers: { first: 3, last: 4 } } as const
  const rows = diffRows([
    change('disappeared', 4, { status: 'condensed', by: 8 }),
    change('appeared', 8, summary),
  ])
  expect(rows.map(({ kind }) => kind)).toEqual(['left', 'came'])
})

const anyChanges = fc.array(
  fc.record({
    change: fc.constantFrom('kept' as const, 'appeared' as const, 'disappeared' as const),
    entry: fc.record({
      kind: fc.constantFrom('message' as const, 'summary' as const),
      position: fc.nat(9),
      status: fc.constantFrom('condensed', 'abandoned'),
      by: fc.nat(3),
      messagesHidden: fc.nat(2),
      covers: fc.record({ first: fc.nat(3), last: fc.nat(3) }),
    }),
  }),
)

test('rows have every change once, in its order', () => {
  fc.assert(
    fc.property(anyChanges, (all) => {
      const told = diffRows(all).flatMap((row) =>
        row.kind === 'changed' ? [row.before, row.after] : [...row.entries],
      )
      expect(told).toEqual(all.map((one) => one.entry))
    }),
    { numRuns: runs(300) },
  )
})

test('a long row is folded in its middle, and says how much of it', () => {
  const entries = Array.from({ length: 120 }, (_, position) => entry(position))
  expect(foldRow(entries, false)).toMatchObject({ folded: 116, after: [entry(118), entry(119)] })
  expect(foldRow(entries, true).before).toHaveLength(120)
  expect(foldRow(entries.slice(0, 7), false).folded).toBe(0)
  expect([stretchesOf(entries), stretchesOf(entries.slice(3, 4)), stretchesOf([])]).toEqual([
    '0–119',
    '3',
    '',
  ])
})

const item = (
  position: number,
  role = 'user',
  text = `text ${position}`,
  id = `m${position}`,
): CompareItem => ({
  kind: 'message',
  position,
  time: '2026-01-01T00:00:00.000Z',
  messageId: id,
  role,
  content: [{ type: 'text', text }],
})

test('what two histories share stands once, what each has by itself beside the other', () => {
  const left = [item(0), item(1, 'assistant'), item(2), item(3, 'assistant')]
  const right = [item(0), item(1, 'assistant'), item(2, 'user', 'again', 'x2')]
  const rows = compareRows(left, right)
  expect(rows).toMatchObject([
    { kind: 'same', items: [{ position: 0 }, { position: 1 }] },
    { kind: 'apart', left: [{ position: 2 }, { position: 3 }], right: [{ messageId: 'x2' }] },
  ])
  expect(commonUntil(rows)).toBe(1)
})

test('a marker is the same in both if it has the same place and time', () => {
  const marker: CompareItem = { kind: 'summary', position: 5, time: '2026-01-01T00:00:00.000Z' }
  expect(compareRows([marker, item(6)], [marker, item(6)])).toMatchObject([{ kind: 'same' }])
  expect(compareRows([marker], [{ ...marker, time: '2026-01-02T00:00:00.000Z' }])).toMatchObject([
    { kind: 'apart' },
  ])
})

test('rows of a comparison have every item of both once, in its order', () => {
  const side = fc.uniqueArray(fc.nat(12)).map((ids) => ids.map((id) => item(id)))
  fc.assert(
    fc.property(side, side, (left, right) => {
      const rows = compareRows(left, right)
      const of = (which: 'left' | 'right') =>
        rows.flatMap((row) => (row.kind === 'same' ? row.items : row[which]))
      expect(of('left')).toEqual(left)
      expect(of('right')).toEqual(right)
      // Two of a kind in a row would be one row.
      expect(rows.every(({ kind }, index) => kind !== rows[index + 1]?.kind)).toBe(true)
    }),
    { numRuns: runs(500) },
  )
})

test('the outcome of a side counts the tools called since the two parted', () => {
  const call = (position: number, name: string): CompareItem => ({
    ...item(position, 'assistant'),
    content: [{ type: 'tool_use', name, input: {} }],
  })
  const left = [
    call(0, 'Read'),
    call(1, 'Edit'),
    call(2, 'Edit'),
    call(3, 'Bash'),
    item(4, 'assistant', '  done\n'),
  ]
  const rows = compareRows(left, [call(0, 'Read')])
  expect(outcomeOf(rows, 'left')).toMatchObject({
    items: 5,
    replies: 4,
    tools: [
      ['Edit', 2],
      ['Bash', 1],
    ],
    last: 'done',
  })
  expect(outcomeOf(rows, 'right')).toMatchObject({ items: 1, replies: 0, tools: [] })
})

test('a locked slider stops at the ends of turns, the first and the last one at most', () => {
  const result: CompareItem = { ...item(2), content: [{ type: 'tool_result' }] }
  const items = [item(0), item(1, 'assistant'), result, item(3, 'assistant'), item(4), item(5, 'assistant')]
  const ends = turnEnds(items)
  expect(ends).toEqual([3, 5])
  expect([moveBy(ends, 5, -1), moveBy(ends, 3, 1), moveBy(ends, 5, 9), moveBy(ends, 4, -9)]).toEqual([
    3, 5, 5, 3,
  ])
})

test('the tools that came, left or changed are named, a moved breakpoint is no change', () => {
  const [read, edit] = [
    { name: 'read', input_schema: {} },
    { name: 'edit', input_schema: {} },
  ]
  const changes = toolChanges(
    [read, { ...edit, cache_control: {} }, { type: 'web_search_1', max_uses: 1 }],
    [read, edit, { type: 'web_search_1', max_uses: 2 }, { name: 'bash' }],
  )
  expect(changes.map(({ name, before, after }) => [name, before !== undefined, after !== undefined])).toEqual(
    [
      ['web_search_1', true, true],
      ['bash', false, true],
    ],
  )
  expect(toolChanges(undefined, [read])).toHaveLength(1)
})

test('a system prompt is compared as one text', () => {
  expect([
    systemText('Be brief.'),
    systemText([{ text: 'a' }, { text: 'b' }]),
    systemText(undefined),
  ]).toEqual(['Be brief.', 'a\n\nb', ''])
})

test('words that left and came make the two texts', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, after) => {
      const pieces = wordsChanged(before, after) ?? []
      const without = (kind: 'left' | 'came') =>
        pieces.flatMap((piece) => (piece.kind === kind ? [] : [piece.text])).join('')
      expect([without('came'), without('left')]).toEqual([before, after])
    }),
    { numRuns: runs(300) },
  )
})

test('an entry is told in a line: what it is, and its first words', () => {
  const said = (content: readonly { readonly type: string; readonly [field: string]: unknown }[]) => {
    const told = { kind: 'message', position: 1, role: 'assistant', content } as const
    return [kindOf(told), inkOf(told), excerptOf(told)]
  }
  expect(
    said([
      { type: 'text', text: ' \n' },
      { type: 'text', text: 'Hello.\n' },
    ]),
  ).toEqual(['assistant', 'assistant', 'Hello.'])
  expect(said([{ type: 'tool_use', name: 'Bash', input: { command: 'ls', timeout: 5 } }])).toEqual([
    'tool call Bash',
    'call',
    'ls  5',
  ])
  expect(said([{ type: 'tool_result', content: [{ type: 'text', text: 'a file' }] }])).toEqual([
    'tool result',
    'result',
    'a file',
  ])
  expect(excerptOf({ kind: 'truncation', position: 2, messagesHidden: 3 })).toBe('3 messages left out')
})
