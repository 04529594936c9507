import { apiPathOf } from '../../server/client/api-path.ts'
import type { ConversationListResponse, ConversationListRow } from '../source/answers.ts'
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
  const { q, has, actor, model, order } = asked
  const wanted = traits.filter((trait) => has.split(',').includes(trait))
  return apiPathOf(
    '/conversations',
    {},
    {
      ...(isSearched(asked) ? { q: q.trim() } : { beginning: q || undefined }),
      has: wanted.length > 0 ? wanted : undefined,
      actor: actor || undefined,
      model: model || undefined,
      order: isOrder(order) ? order : undefined,
      ...page,
    },
  )
}

/** Reports whether a filter restricts the list. */
export const isNarrowed = ({ q, has, actor, model }: ListPageQuery): boolean =>
  [q, has, actor, model].some((text) => text !== '')

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
  return { ...page, items: [...before.items, ...page.items.filter(({ id }) => !ids.has(id))] }
}

/** Replaces a list with its new first page. If more pages are loaded, keeps the loaded rows and updates only the totals. */
export const refreshList = (
  before: ConversationListResponse | undefined,
  first: ConversationListResponse,
): ConversationListResponse =>
  before && before.items.length > first.items.length
    ? { ...first, items: before.items, next: before.next }
    : first

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

/**
 * Returns the range of rows to render, as half-open indices: the visible rows and 8 more on each side. `height` is the height of a row;
 * all sizes are in CSS pixels.
 */
export const inSight = (
  rows: number,
  height: number,
  { from, to }: { readonly from: number; readonly to: number },
): readonly [first: number, end: number] => {
  const spare = 8
  const first = Math.max(0, Math.floor(from / height) - spare)
  return [Math.min(first, rows), Math.max(0, Math.min(rows, Math.ceil(to / height) + spare))]
}
