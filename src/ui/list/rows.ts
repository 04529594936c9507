import { apiPathOf } from '../../server/client/api-path.ts'
import type { ConversationListResponse, ConversationListRow } from '../source/answers.ts'
import { queryOf } from '../url.ts'

// The conversations as rows: forks under their parents, curves as lines.

export interface ListRow {
  readonly overview: ConversationListRow
  /** Depth of a fork under its parent; else 0. */
  readonly depth: number
}

/** Keeps the given order, but lists each fork under its parent if the parent is in the list. */
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
  // Whose parents are each other's forks stand under nobody; they are not lost.
  const shown = new Set(rows.map(({ overview }) => overview.id))
  return [...rows, ...items.filter(({ id }) => !shown.has(id)).map((overview) => ({ overview, depth: 0 }))]
}

/** Makes an SVG path of a curve in a field of this size: the newest value at the right, 0 at the bottom. */
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

/** Traits of a conversation that can be filtered by. */
export const traits = ['condensed', 'truncated', 'rewound', 'restored', 'forked'] as const

/** Query of the list, as in its address. */
export interface ListPageQuery {
  readonly q: string
  /** Scope of the search for `q`: messages, or ids only. */
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

/** Returns the address of the list for a query. */
export const hrefOf = (asked: ListPageQuery): string =>
  `/${queryOf({ ...asked, in: asked.in === 'ids' ? 'ids' : '' })}`

/** True if messages are searched, which takes three characters or more. */
export const isSearched = ({ q, in: place }: ListPageQuery): boolean =>
  place === 'text' && q.trim().length >= 3

/** The orders to choose from, in words: the first one if none is. */
export const orders = {
  '': 'last active first',
  begun: 'begun last first',
  tokens: 'largest first',
  id: 'by id',
} as const
const isOrder = (text: string): text is Exclude<keyof typeof orders, ''> => text !== '' && text in orders

/** The API's path of it. Fewer characters than can be searched are the beginning of an id; what its address names wrongly is not asked for. */
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

/** True if a filter restricts the list. */
export const isNarrowed = ({ q, has, actor, model }: ListPageQuery): boolean =>
  [q, has, actor, model].some((text) => text !== '')

/** Returns the counts for `12 matching of 41,233`, and the number of loaded rows. */
export const tallyOf = (
  { items, next, total, matching }: Omit<ConversationListResponse, 'isComplete'>,
  isNarrow: boolean,
): { readonly shown: number; readonly of: number | undefined; readonly total: number | undefined } => ({
  shown: items.length,
  of: isNarrow ? matching : (total ?? (next === undefined ? items.length : undefined)),
  total: isNarrow ? total : undefined,
})

/** Appends the next page to a list. A conversation that moved to it meanwhile is listed once. */
export const withPage = (
  before: ConversationListResponse,
  page: ConversationListResponse,
): ConversationListResponse => {
  const ids = new Set(before.items.map(({ id }) => id))
  return { ...page, items: [...before.items, ...page.items.filter(({ id }) => !ids.has(id))] }
}

/** Updates a list with its refreshed first page: a longer list keeps its rows, with the new figures. */
export const refreshList = (
  before: ConversationListResponse | undefined,
  first: ConversationListResponse,
): ConversationListResponse =>
  before && before.items.length > first.items.length
    ? { ...first, items: before.items, next: before.next }
    : first

/** Updates a list after an event in one of its conversations. */
export const updateList = (
  list: ConversationListResponse,
  id: string,
  position: number,
  time: string,
): ConversationListResponse => ({
  ...list,
  items: list.items.map((item) =>
    item.id === id ? { ...item, events: Math.max(item.events, position + 1), updated: time } : item,
  ),
})

/** Returns the range of visible rows, given their height, with some extra before and after: the first one, and the one after the last. */
export const inSight = (
  rows: number,
  height: number,
  { from, to }: { readonly from: number; readonly to: number },
): readonly [first: number, end: number] => {
  const spare = 8
  const first = Math.max(0, Math.floor(from / height) - spare)
  return [Math.min(first, rows), Math.max(0, Math.min(rows, Math.ceil(to / height) + spare))]
}
