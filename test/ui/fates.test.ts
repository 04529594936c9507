import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Entry, full } from '../../src/projections/full.ts'
import { endsOf, hrefOf, subjectNames } from '../../src/ui/diff/ends.ts'
import { excerptOf, textOf } from '../../src/ui/diff/excerpt.ts'
import { commonPart, fateRows } from '../../src/ui/diff/fates.ts'
import { breakpointsIn, blocksIn, rowsOfBlocks, settingChanges } from '../../src/ui/diff/request-changes.ts'
import type { DiffRow } from '../../src/ui/diff/rows.ts'
import { listsChanged } from '../../src/ui/diff/words.ts'
import type { ApiRequestMessage } from '../../src/ui/request/parts.ts'
import { histories } from '../support/histories.ts'
import { assistant, logOf, rewound, truncated, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'

const inAll = (rows: readonly DiffRow<Entry>[], kinds: readonly string[]): readonly Entry[] =>
  rows.flatMap((row) => (kinds.includes(row.kind) && 'entries' in row ? row.entries : []))

describe('of all that happened between two positions', () => {
  test('every entry of either is in one row, with what became of it', () => {
    fc.assert(
      fc.property(histories(), fc.nat(), fc.nat(), (log, one, other) => {
        const [from, to] = [one % (log.length + 1), other % (log.length + 1)].map((at) => at - 1) as [
          number,
          number,
        ]
        const of = (at: number): readonly Entry[] => (at < 0 ? [] : full(log, { at, abandoned: true }))
        const [before, after] = [of(from), of(to)]
        const rows = fateRows(before, after)
        expect(inAll(rows, ['kept', 'turned', 'left'])).toHaveLength(before.length)
        expect(inAll(rows, ['kept', 'turned', 'came'])).toEqual(after)
        const was = new Map(before.map((entry) => [entry.position, entry]))
        for (const { position, status, by } of inAll(rows, ['kept']))
          expect(was.get(position)).toMatchObject({ status, ...(by !== undefined && { by }) })
        for (const row of rows) {
          if (row.kind === 'changed' || row.kind === 'kept' || row.kind === 'left') continue
          for (const { status, by } of row.entries) expect([status, by]).toEqual([row.status, row.by])
        }
      }),
      { numRuns: runs(300) },
    )
  })

  test('what was seen and is abandoned or hidden says by what', () => {
    const log = logOf(user('a'), assistant('b'), user('c'), truncated(1, 1), rewound(2), user('d'))
    const of = (at: number): readonly Entry[] => full(log, { at, abandoned: true })
    expect(fateRows(of(2), of(3)).map((row) => [row.kind, 'status' in row && row.status])).toEqual([
      ['kept', false],
      ['turned', 'truncated'],
      ['kept', false],
      ['came', 'active'],
    ])
    expect(fateRows(of(3), of(5)).map((row) => [row.kind, 'status' in row && row.status])).toEqual([
      ['kept', false],
      ['turned', 'active'],
      ['kept', false],
      ['turned', 'abandoned'],
      ['came', 'active'],
    ])
    // Backwards, what was not written yet leaves.
    expect(inAll(fateRows(of(5), of(2)), ['left']).map(({ position }) => position)).toEqual([3, 5])
  })

  test('only what both sides have is compared, if only the last entries were fetched', () => {
    const entries = (from: number, to: number): readonly Entry[] =>
      Array.from({ length: to - from + 1 }, (_, index) => ({ position: from + index }) as Entry)
    const { before, after, from } = commonPart(entries(11, 20), entries(21, 30), 10)
    expect([before, after, from]).toEqual([[], entries(21, 30), 21])
    expect(commonPart(entries(0, 4), entries(0, 8), 10).from).toBe(0)
  })
})

const block = fc.record({ type: fc.constant('text'), text: fc.constantFrom('a', 'b', 'c') })
const message: fc.Arbitrary<ApiRequestMessage> = fc.record({
  role: fc.constantFrom('user', 'assistant'),
  content: fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.array(block, { maxLength: 2 })),
})
const messages = fc.array(message, { maxLength: 8 })

describe('of two requests', () => {
  test('the rows are the blocks of both, in their order', () => {
    fc.assert(
      fc.property(messages, messages, (one, other) => {
        const [before, after] = [blocksIn({ messages: one }), blocksIn({ messages: other })]
        const keys = (said: typeof before) => said.map(({ key }) => key)
        const rows = rowsOfBlocks(before, after, listsChanged(keys(before), keys(after)))
        const of = (kind: 'left' | 'came', otherwise: 'before' | 'after') =>
          rows.flatMap((row) => {
            if (row.kind === 'changed') return [row[otherwise]]
            return row.kind === kind || row.kind === 'kept' ? row.entries : []
          })
        // What is kept is shown where it is now.
        expect(of('came', 'after')).toEqual(after.map(({ entry }) => entry))
        expect(of('left', 'before').map(({ role, content }) => [role, content])).toEqual(
          before.map(({ entry: { role, content } }) => [role, content]),
        )
        if (keys(before).join() === keys(after).join())
          expect(rows.every(({ kind }) => kind === 'kept')).toBe(true)
      }),
    )
  })

  test('what was merged into another message is kept, as are its neighbours', () => {
    const before = blocksIn({ messages: [{ role: 'user', content: 'Do it.' }] })
    const content = [
      { type: 'text', text: 'Do it.' },
      { type: 'text', text: 'A summary.' },
    ]
    const after = blocksIn({ messages: [{ role: 'user', content }] })
    const stretches = listsChanged(
      before.map(({ key }) => key),
      after.map(({ key }) => key),
    )
    expect(rowsOfBlocks(before, after, stretches).map(({ kind }) => kind)).toEqual(['kept', 'came'])
  })

  test('a cache breakpoint that moves changes no message, and is told by itself', () => {
    const text = (marked: boolean) => ({
      type: 'text',
      text: 'a',
      ...(marked && { cache_control: { type: 'ephemeral' } }),
    })
    const request = (first: boolean) => ({
      messages: [
        { role: 'user', content: [text(first)] },
        { role: 'assistant', content: [text(!first)] },
      ],
    })
    expect(blocksIn(request(true))).toEqual(blocksIn(request(false)))
    expect(breakpointsIn(request(true))).toEqual(['messages[0].content[0]'])
    expect(breakpointsIn(request(false))).toEqual(['messages[1].content[0]'])
  })

  test('settings that came, left or changed are told by name', () => {
    const before = { model: 'a', max_tokens: 800, thinking: { type: 'adaptive' }, messages: [] }
    const after = { model: 'b', max_tokens: 800, temperature: 1, messages: [], system: 'not one of them' }
    expect(settingChanges(before, after)).toEqual([
      { name: 'model', before: '"a"', after: '"b"' },
      { name: 'thinking', before: '{"type":"adaptive"}', after: undefined },
      { name: 'temperature', before: undefined, after: '1' },
    ])
  })

  test('a message that changed late in it is compared in whole', () => {
    const long = {
      kind: 'message',
      position: 0,
      content: [{ type: 'text', text: `${'a '.repeat(300)}b` }],
    } as const
    expect(textOf(long).endsWith('b')).toBe(true)
    expect(excerptOf(long).endsWith('b')).toBe(false)
  })

  test.each([
    ['<task-notification>\n<summary>It is done</summary>\n</task-notification>', 'It is done'],
    ['<system-reminder>Use tabs.</system-reminder> Fix it.', 'Use tabs.'],
    ['<empty-part></empty-part>', 'empty-part'],
    ['Fix <b>it</b>.', 'Fix <b>it</b>.'],
  ])('the excerpt of %s has no tags of a client', (text, excerpt) => {
    expect(excerptOf({ kind: 'message', position: 0, content: [{ type: 'text', text }] })).toBe(excerpt)
  })
})

test('the address of a comparison holds all of it', () => {
  const ends = fc.record({
    from: fc.integer({ min: -1, max: 9_999 }),
    to: fc.option(fc.integer({ min: -1, max: 9_999 }), { nil: undefined }),
    other: fc.constantFrom(undefined, 'other', 'a:b', 'x y'),
    of: fc.constantFrom(...subjectNames),
  })
  fc.assert(
    fc.property(ends, (given) => {
      const href = hrefOf('talk', given)
      expect(endsOf('talk', new URL(href, 'http://localhost').search)).toEqual(given)
    }),
  )
})
