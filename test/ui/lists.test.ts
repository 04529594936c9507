import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  listQueryIn,
  curvePath,
  updateList,
  hrefOf,
  groupOf,
  inSight,
  isNarrowed,
  linesOf,
  nestForks,
  pathOf,
  refreshList,
  tallyOf,
  topsOf,
  withFresh,
  withPage,
} from '../../src/ui/list/rows.ts'
import type { ConversationListResponse, ConversationListRow } from '../../src/ui/source/answers.ts'
import { matchCommands, placeIn, scoreOf } from '../../src/ui/palette/match.ts'
import { runs } from '../support/runs.ts'

const overview = (id: string, parent?: string): ConversationListRow => ({
  id,
  title: id,
  events: 1,
  updated: '2026-01-01T00:00:00.000Z',
  ...(parent !== undefined && { parent }),
})
const listed = (page: Omit<ConversationListResponse, 'isComplete'>): ConversationListResponse => ({
  isComplete: true,
  ...page,
})
const told = (items: readonly ConversationListRow[]) =>
  nestForks(items).map((row) => [row.overview.id, row.depth])

test('forks stand under their parents, in the order of the list', () => {
  const items = [overview('c', 'b'), overview('x'), overview('b', 'a'), overview('a'), overview('d', 'a')]
  expect(told(items)).toEqual([
    ['x', 0],
    ['a', 0],
    ['b', 1],
    ['c', 2],
    ['d', 1],
  ])
})

test('a fork whose parent is not in the list stands by itself', () => {
  expect(told([overview('b', 'gone')])).toEqual([['b', 0]])
})

test('every conversation stands in the list once, whatever is the parent of what', () => {
  const item = fc.tuple(fc.nat(9), fc.nat(9)).map(([id, parent]) => overview(`c${id}`, `c${parent}`))
  fc.assert(
    fc.property(fc.uniqueArray(item, { selector: ({ id }) => id }), (items) => {
      const ids = nestForks(items).map((row) => row.overview.id)
      expect(ids.toSorted()).toEqual(items.map(({ id }) => id).toSorted())
    }),
    { numRuns: runs(500) },
  )
})

test('a deep line of forks is listed without recursion', () => {
  const items = Array.from({ length: 20_000 }, (_, n) => overview(`c${n}`, n > 0 ? `c${n - 1}` : undefined))
  expect(nestForks(items).at(-1)?.depth).toBe(19_999)
})

test('a curve fills its field: the newest sample at the right, the largest at the top', () => {
  expect(curvePath([0, 50, 100], 20, 10)).toBe('M0 10L10 5L20 0')
  expect(curvePath([7], 20, 10)).toBe('M0 0')
  expect(curvePath([0, 0], 20, 10)).toBe('M0 10L20 10')
  expect(curvePath([], 20, 10)).toBe('')
})

test('what is asked of the list is in the address, and what narrows it is known', () => {
  expect(listQueryIn('?q=line%2080&has=condensed&in=ids')).toMatchObject({
    q: 'line 80',
    has: 'condensed',
    in: 'ids',
  })
  expect(
    ['?order=tokens', '?model=opus', '?status=failed', '?errors=true', '?errors=1'].map((search) =>
      isNarrowed(listQueryIn(search)),
    ),
  ).toEqual([false, true, true, true, false])
})

test('what is asked is asked of the API: too short to be searched, it is the beginning of an id', () => {
  const asked = listQueryIn('?q=line%2080&has=condensed')
  expect(pathOf(asked)).toBe('/conversations?q=line+80&has=condensed')
  expect(pathOf({ ...asked, q: 'li' })).toBe('/conversations?beginning=li&has=condensed')
  expect(pathOf({ ...asked, in: 'ids' })).toBe('/conversations?beginning=line+80&has=condensed')
  expect(pathOf(listQueryIn(''))).toBe('/conversations')
  expect(pathOf(listQueryIn('?order=tokens&has=odd'))).toBe('/conversations?order=tokens')
  expect(pathOf(listQueryIn('?status=needs-approval,odd&errors=true'))).toBe(
    '/conversations?status=needs-approval&errors=true',
  )
  expect(pathOf(listQueryIn(''), { limit: 100, cursor: 'a' })).toBe('/conversations?limit=100&cursor=a')
  expect(listQueryIn(hrefOf({ ...asked, in: 'ids' }).slice(1))).toEqual({ ...asked, in: 'ids' })
})

test('a page lists no conversation again that moved to it', () => {
  const list = withPage(
    listed({ items: [overview('a'), overview('b')], next: 'b' }),
    listed({ items: [overview('b'), overview('c')] }),
  )
  expect([list.items.map(({ id }) => id), list.next]).toEqual([['a', 'b', 'c'], undefined])
})

test('asked for again, a list keeps what was loaded of it, with the figures of now', () => {
  const first = listed({ items: [overview('new'), overview('a')], next: 'a', total: 4 })
  const long = listed({ items: ['a', 'b', 'c'].map((id) => overview(id)), next: 'c', total: 3 })
  expect(refreshList(long, first)).toEqual({ ...long, total: 4 })
  expect(refreshList(listed({ items: [overview('a')], next: 'a' }), first)).toEqual(first)
  expect(refreshList(undefined, first)).toEqual(first)
  const { next: _, ...whole } = long
  expect(refreshList(whole, first).next).toBeUndefined()
})

test('an event changes only its conversation, and an old one never lowers a count', () => {
  const list = listed({ items: [overview('a'), { ...overview('b'), events: 9 }] })
  const time = '2026-02-02T00:00:00.000Z'
  const happened = (position: number, type = 'MessageAppended') => ({ type, position, metadata: { time } })
  expect(updateList(list, 'a', happened(4)).items).toEqual([
    { ...overview('a'), events: 5, updated: time },
    list.items[1],
  ])
  expect(updateList(list, 'b', happened(3)).items[1]?.events).toBe(9)
  expect(updateList(list, 'a', happened(4, 'Erased')).items[0]).toEqual({ ...overview('a'), events: 5 })
})

const noon = new Date(2026, 4, 4, 12).getTime()
const hoursAgo = (hours: number): string => new Date(noon - hours * 3_600_000).toISOString()

test('conversations are grouped by the day of their last activity', () => {
  const groups = [0, 11, 13, 35, 37, 999].map((hours) => groupOf({ updated: hoursAgo(hours) }, noon))
  expect(groups).toEqual(['Today', 'Today', 'Yesterday', 'Yesterday', 'Earlier', 'Earlier'])
})

test('what needs somebody comes first and once, with its forks, and a parent with the fork that needs somebody', () => {
  const at = (hours: number, id: string, parent?: string) => ({
    ...overview(id, parent),
    updated: hoursAgo(hours),
  })
  const items = [
    at(1, 'a'),
    at(2, 'b'),
    at(3, 'b1', 'b'),
    at(20, 'c'),
    at(21, 'd'),
    at(22, 'd1', 'd'),
    at(99, 'e'),
  ]
  const needed = [at(21, 'd'), at(3, 'b1', 'b'), at(500, 'old')]
  const names = linesOf(items, needed, noon).map((line) => ('group' in line ? line.group : line.overview.id))
  expect(names).toEqual([
    'Needs you',
    'd',
    'd1',
    'old',
    'b',
    'b1',
    'Today',
    'a',
    'Yesterday',
    'c',
    'Earlier',
    'e',
  ])
  const plain = linesOf(items, [], undefined)
  expect(plain.some((line) => 'group' in line)).toBe(false)
})

test('groups come one after the other, also when something new happened in an old conversation', () => {
  const items = [30, 99, 1].map((hours) => ({ ...overview(`c${hours}`), updated: hoursAgo(hours) }))
  const names = linesOf(items, [], noon).map((line) => ('group' in line ? line.group : line.overview.id))
  expect(names).toEqual(['Yesterday', 'c30', 'Earlier', 'c99', 'c1'])
})

test('figures learned again change no places', () => {
  const list = listed({ items: [overview('a'), overview('b')], next: 'b', total: 3 })
  const first = listed({ items: [overview('new'), { ...overview('b'), events: 7 }], next: 'x', total: 4 })
  expect(withFresh(list, first)).toEqual({
    ...list,
    total: 4,
    items: [overview('a'), { ...overview('b'), events: 7 }],
  })
})

test('the rows in sight are few, and all that can be seen', () => {
  const line = fc
    .boolean()
    .map((isGroup) => (isGroup ? { group: 'Today' } : { overview: overview('a'), depth: 0 }))
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 300 }),
      fc.integer({ min: -5_000, max: 20_000 }),
      (lines, from) => {
        const tops = topsOf(lines, { row: 52, group: 42 })
        const [first, end] = inSight(tops, { from, to: from + 900 })
        expect(end - first).toBeLessThanOrEqual(900 / 42 + 19)
        for (const [index] of lines.entries()) {
          const [top = 0, bottom = 0] = [tops[index], tops[index + 1]]
          if (bottom > from && top < from + 900) expect(first <= index && index < end).toBe(true)
        }
      },
    ),
    { numRuns: runs(300) },
  )
})

test('the list never says that there is less than there is', () => {
  const items = [overview('a')]
  expect(tallyOf({ items }, false)).toEqual({ shown: 1, of: 1, total: undefined })
  // A server that does not count: nobody knows how many more there are.
  expect(tallyOf({ items, next: 'a' }, false)).toEqual({ shown: 1, of: undefined, total: undefined })
  expect(tallyOf({ items, next: 'a', matching: 12, total: 41_233 }, true)).toEqual({
    shown: 1,
    of: 12,
    total: 41_233,
  })
})

const commands = ['rewind to here …', 'show the request of this call', 'redo', 'go to the workers'].map(
  (name) => ({
    name,
    topic: 'Act',
  }),
)

test('the palette finds actions by the beginnings of their words, by parts and by letters', () => {
  const first = (typed: string) => matchCommands(commands, typed)[0]?.name
  expect(first('re')).toBe('rewind to here …')
  expect(first('workers')).toBe('go to the workers')
  expect(first('request')).toBe('show the request of this call')
  expect(first('gtw')).toBe('go to the workers')
  expect(matchCommands(commands, 'xyz')).toEqual([])
  expect(matchCommands(commands, '')).toEqual(commands)
  expect(scoreOf('redo', 'redo')).toBe(0)
})

test('the palette takes positions, calls, differences and ids', () => {
  expect(
    ['61234', 'go to 7', 'call 61', 'diff 120 149', 'diff 120–149', '@billing-88', 'redo', '-3'].map(placeIn),
  ).toEqual([
    { kind: 'position', position: 61_234 },
    { kind: 'position', position: 7 },
    { kind: 'call', number: 61 },
    { kind: 'diff', from: 120, to: 149 },
    { kind: 'diff', from: 120, to: 149 },
    { kind: 'conversation', id: 'billing-88' },
    undefined,
    undefined,
  ])
})
