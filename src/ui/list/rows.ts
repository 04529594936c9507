import { apiPathOf } from '../../server/client/api-path.ts'
import type { ConversationListResponse, ConversationListRow } from '../source/answers.ts'
import { isStatus } from '../head/statuses.ts'
import { queryOf } from '../url.ts'

// Conversations as rows of the list: forks below their parents, curves as SVG paths.

export interface ListRow {
  readonly overview: ConversationListRow
  /** Depth of a fork below its topmost listed ancestor; 0 for other conversations. */
  readonly depth: number
}

/** Moves each fork below its parent if the list contains the parent. Keeps the order of the other conversations. */
export const nestForks = (items: readonly ConversationListRow[]): readonly ListRow[] => {
  const ids = new Set(items.map(({ id }) => id))
  const isUnder = ({ id, parent }: ConversationListRow): boolean =>
    parent !== undefined && parent !== id && ids.has(parent)
  const forks = Map.groupBy(items.filter(isUnder), ({ parent }) => parent)
  const rows: ListRow[] = []
  const waiting: ListRow[] = items
    .filter((item) => !isUnder(item))
    .map((overview) => ({ overview, depth: 0 }))
    .toReversed()
  for (let row = waiting.pop(); row; row = waiting.pop()) {
    rows.push(row)
    const { depth } = row
    const own = forks.get(row.overview.id) ?? []
    waiting.push(...own.map((overview) => ({ overview, depth: depth + 1 })).toReversed())
  }
  // Forks whose parents form a cycle were not reached above; they are appended.
  const shown = new Set(rows.map(({ overview }) => overview.id))
  return [...rows, ...items.filter(({ id }) => !shown.has(id)).map((overview) => ({ overview, depth: 0 }))]
}

/** Returns an SVG path of a curve that fills the given size, with the newest value at the right and 0 at the bottom. */
export const curvePath = (curve: readonly number[], width: number, height: number): string => {
  const most = Math.max(1, ...curve)
  const step = curve.length > 1 ? width / (curve.length - 1) : 0
  return curve
    .map(
      (value, index) =>
        `${index === 0 ? 'M' : 'L'}${round(index * step)} ${round(height - (value / most) * height)}`,
    )
    .join('')
}
const round = (value: number): number => Math.round(value * 10) / 10

/** Traits of conversations that the list can filter by. */
export const traits = ['condensed', 'truncated', 'rewound', 'restored', 'forked'] as const

/** Filters and sort order of the list, as encoded in the URL of the page. */
export interface ListPageQuery {
  /** Status that the conversations must have; empty for any. */
  readonly status: string
  /** `true` for conversations with errors only; else empty. */
  readonly errors: string
  readonly q: string
  /** Scope of the search for `q`: messages or ids. */
  readonly in: 'text' | 'ids'
  readonly has: string
  readonly actor: string
  readonly model: string
  readonly order: string
}

export const listQueryIn = (search: string): ListPageQuery => {
  const query = new URLSearchParams(search)
  const text = (name: string): string => query.get(name) ?? ''
  return {
    q: text('q'),
    in: query.get('in') === 'ids' ? 'ids' : 'text',
    has: text('has'),
    status: text('status'),
    errors: text('errors') === 'true' ? 'true' : '',
    actor: text('actor'),
    model: text('model'),
    order: text('order'),
  }
}

export const hrefOf = (asked: ListPageQuery): string =>
  `/${queryOf({ ...asked, in: asked.in === 'ids' ? 'ids' : '' })}`

/** Reports whether messages are searched, which requires at least three characters. */
export const isSearched = ({ q, in: place }: ListPageQuery): boolean =>
  place === 'text' && q.trim().length >= 3

/** Labels of the orders; the empty key is the default order. */
export const orders = {
  '': 'last active first',
  begun: 'begun last first',
  tokens: 'largest first',
  id: 'by id',
} as const
const isOrder = (text: string): text is Exclude<keyof typeof orders, ''> => text !== '' && text in orders

/**
 * Returns the API path for a list query. If only ids are searched, or if `q` is too short for a search of messages, `q` is the
 * beginning of an id. Unknown traits and orders are ignored.
 */
export const pathOf = (
  asked: ListPageQuery,
  page: { readonly limit?: number; readonly cursor?: string | undefined } = {},
) => {
  const { q, has, status, errors, actor, model, order } = asked
  const wantedStatuses = status.split(',').filter(isStatus)
  const wanted = traits.filter((trait) => has.split(',').includes(trait))
  return apiPathOf(
    '/conversations',
    {},
    {
      ...(isSearched(asked) ? { q: q.trim() } : { beginning: q || undefined }),
      has: wanted.length > 0 ? wanted : undefined,
      status: wantedStatuses.length > 0 ? wantedStatuses : undefined,
      errors: errors === 'true' ? true : undefined,
      actor: actor || undefined,
      model: model || undefined,
      order: isOrder(order) ? order : undefined,
      ...page,
    },
  )
}

/** Reports whether a filter restricts the list. */
export const isNarrowed = ({ q, has, status, errors, actor, model }: ListPageQuery): boolean =>
  [q, has, status, errors, actor, model].some((text) => text !== '')

/** Returns the numbers for a line such as `12 matching of 41,233`, and the number of loaded rows. */
export const tallyOf = (
  { items, next, total, matching }: Omit<ConversationListResponse, 'isComplete'>,
  isNarrow: boolean,
): { readonly shown: number; readonly of: number | undefined; readonly total: number | undefined } => ({
  shown: items.length,
  of: isNarrow ? matching : (total ?? (next === undefined ? items.length : undefined)),
  total: isNarrow ? total : undefined,
})

/** Appends the next page to a list, without conversations that the list already contains. */
export const withPage = (
  before: ConversationListResponse,
  page: ConversationListResponse,
): ConversationListResponse => {
  const ids = new Set(before.items.map(({ id }) => id))
  const counts = page.counts ?? before.counts
  return {
    ...page,
    ...(counts && { counts }),
    items: [...before.items, ...page.items.filter(({ id }) => !ids.has(id))],
  }
}

/** Replaces a list with its new first page. If more pages are loaded, keeps the loaded rows and updates only the totals. */
export const refreshList = (
  before: ConversationListResponse | undefined,
  first: ConversationListResponse,
): ConversationListResponse =>
  before && before.items.length > first.items.length
    ? { ...first, items: before.items, next: before.next }
    : first

/** Updates the rows of a list, which keep their places, and its totals from a new first page. */
export const withFresh = (
  before: ConversationListResponse,
  first: ConversationListResponse,
): ConversationListResponse => {
  const fresh = new Map(first.items.map((item) => [item.id, item]))
  const { next: _, ...rest } = first
  const items = before.items.map((item) => fresh.get(item.id) ?? item)
  return { ...rest, ...(before.next !== undefined && { next: before.next }), items }
}

/** New event of a listed conversation, as the server sends it. */
export interface NewEvent {
  readonly type: string
  readonly position: number
  readonly metadata: { readonly time: string }
}

/** Updates the number of events of a conversation after a new event, and the time, unless the event is an erasure. */
export const updateList = (
  list: ConversationListResponse,
  id: string,
  { type, position, metadata: { time } }: NewEvent,
): ConversationListResponse => ({
  ...list,
  items: list.items.map((item) =>
    item.id === id
      ? {
          ...item,
          events: Math.max(item.events, position + 1),
          ...(type !== 'Erased' && { updated: time }),
        }
      : item,
  ),
})

/** Returns the query for what needs somebody: shown first in a list that no filter narrows. */
export const needing: ListPageQuery = { ...listQueryIn(''), status: 'needs-approval,failed' }

/** Line of the list: the heading of a group, or a conversation. */
export type ListLine = { readonly group: string } | ListRow

const day = 86_400_000
const midnight = (now: number): number => new Date(now).setHours(0, 0, 0, 0)

/** Names the group of a conversation by its last activity: `Today`, `Yesterday`, `Earlier`. `now` is in milliseconds since 1970. */
export const groupOf = ({ updated }: Pick<ConversationListRow, 'updated'>, now: number): string => {
  const time = Date.parse(updated)
  // Half a day off, because a day may have 23 or 25 hours.
  if (time >= midnight(now)) return 'Today'
  return time >= midnight(midnight(now) - day / 2) ? 'Yesterday' : 'Earlier'
}

/**
 * Arranges a list into lines: what needs somebody first, then the others in their order, with a heading before each group of days. Forks
 * stand under their parents, and belong to the parent's group; a parent belongs to the group of a fork that needs somebody.
 *
 * @param needed conversations that need somebody; none of them is listed twice
 * @param now undefined to make no groups, for a list in another order than by activity
 */
export const linesOf = (
  items: readonly ConversationListRow[],
  needed: readonly ConversationListRow[],
  now: number | undefined,
): readonly ListLine[] => {
  const first = new Set(needed.map(({ id }) => id))
  const trees: ListRow[][] = []
  for (const row of nestForks([...needed, ...items.filter(({ id }) => !first.has(id))]))
    if (row.depth === 0) trees.push([row])
    else trees.at(-1)?.push(row)
  const needs = (tree: readonly ListRow[]): boolean => tree.some(({ overview }) => first.has(overview.id))
  const above = trees.filter(needs)
  const below = trees.filter((tree) => !needs(tree))
  if (now === undefined) return [...above, ...below].flat()
  const lines: ListLine[] = above.length > 0 ? [{ group: 'Needs you' }, ...above.flat()] : []
  let last = -1
  for (const tree of below) {
    // Groups only come one after the other, even if the clocks of the writers differ.
    const group = groups.indexOf(tree[0] ? groupOf(tree[0].overview, now) : '')
    if (group > last) lines.push({ group: groups[group] ?? '' })
    last = Math.max(last, group)
    for (const row of tree) lines.push(row)
  }
  return lines
}
const groups = ['Today', 'Yesterday', 'Earlier']

/** Returns the distance of each line from the top of the list, in CSS pixels; last the height of the whole list. */
export const topsOf = (
  lines: readonly ListLine[],
  height: { readonly row: number; readonly group: number },
): readonly number[] => {
  const tops = [0]
  for (const line of lines) tops.push((tops.at(-1) ?? 0) + ('group' in line ? height.group : height.row))
  return tops
}

/**
 * Returns the range of lines to render, as half-open indices: the visible ones and 8 more on each side.
 *
 * @param tops distance of each line from the top, and the height of the list, in CSS pixels
 */
export const inSight = (
  tops: readonly number[],
  { from, to }: { readonly from: number; readonly to: number },
): readonly [first: number, end: number] => {
  const spare = 8
  const lines = tops.length - 1
  const first = Math.max(0, lastAt(tops, from) - spare)
  return [Math.min(first, lines), Math.max(0, Math.min(lines, lastAt(tops, to) + 1 + spare))]
}

/** Finds the last line that begins at or above a distance from the top; 0 if there is none. */
const lastAt = (tops: readonly number[], from: number): number => {
  let [low, high] = [0, tops.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((tops[middle] ?? 0) <= from) low = middle
    else high = middle - 1
  }
  return low
}
