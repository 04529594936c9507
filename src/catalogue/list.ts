import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { fold } from '../projections/excerpts.ts'
import { memo } from '../projections/memo.ts'
import { unwrap, type Fallible } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'
import type { StoreError } from '../store/errors.ts'
import type { EventStore } from '../store/port.ts'
import { type Candidate, candidatesOf } from './candidates.ts'
import { cursorOf, cursorText } from './cursor.ts'
import type { Feed } from './feed.ts'
import { curveOf } from './outline.ts'
import { createPatience } from './patience.ts'
import { rowColumns, rowsFrom } from './rows.ts'
import { textIn } from './search.ts'
import { isSearchable } from './texts.ts'
import type { ConversationRow } from './conversation-row.ts'
import { rowsTitledWith } from './titles.ts'
import { type StatusName, statuses, workingFor } from './status.ts'
import { type ConversationFacts, factsIn } from './list/conversation-facts.ts'
import { type MarkCounts, marksIn } from './list/marks-in.ts'
import { type Trait, traitNames, traits } from './traits.ts'

/**
 * Order of a list of conversations. `activity` or `updated`: latest last event first; `begun` or `newest`: most recently begun in this
 * store first; `tokens`: most tokens first; `id`: by id.
 */
export type ListOrder = 'activity' | 'begun' | 'tokens' | 'id' | 'updated' | 'newest'

/** Conditions and order of a list of conversations. */
export interface ConversationFilter {
  /** Text to find in the id, the title, or any content of the conversation, except events that a fork inherits. */
  readonly q?: string | undefined
  /** Traits that the conversation must all have. */
  readonly has?: readonly Trait[] | undefined
  /** Actor of at least one event of the conversation, given as kind or id. */
  readonly actor?: string | undefined
  /** Model that replied in the conversation or was configured for it. */
  readonly model?: string | undefined
  /** Statuses of which the conversation must have one. */
  readonly status?: readonly StatusName[] | undefined
  /** True for conversations with errors only. */
  readonly errors?: boolean | undefined
  readonly beginning?: string | undefined
  readonly order: ListOrder
  readonly limit: number
  readonly cursor: string | undefined
}

/** List entry for a conversation. */
export interface ListedRow extends ConversationFacts {
  /** Tokens at up to 32 evenly spaced positions, including the last one. */
  readonly curve: readonly number[]
  /** One letter for each sample of `curve`: the kind of the last mark since the sample before (`C`, `T`, `W`, `R`), or `-`. */
  readonly curveMarks: string
  /** Numbers of summaries, truncations, rewinds and restores, among the newest 1,000. */
  readonly marks: MarkCounts
}

/** Name, and the number of conversations that a filter by it would list. */
export interface NameCount {
  readonly name: string
  readonly count: number
}

/** Number of conversations in the store, and of those that a filter by status, errors or one trait would list. */
export interface ListCounts {
  readonly all: number
  readonly errors: number
  readonly status: Readonly<Record<StatusName, number>>
  readonly has: Readonly<Record<Trait, number>>
  /** Models and actors, the most frequent 50 of each. */
  readonly models: readonly NameCount[]
  readonly actors: readonly NameCount[]
}

export interface RowList {
  readonly items: readonly ListedRow[]
  readonly next?: string
  /** Number of conversations in the store; absent while the index is incomplete. */
  readonly total?: number
  /**
   * Number of conversations that match the filter; absent if `total` is absent, or if conversations would have to be read to count the
   * matches.
   */
  readonly matching?: number
  /** Counts for filters, on the first page; absent if `total` is absent. */
  readonly counts?: ListCounts
}

const orders: Readonly<Record<ListOrder, readonly [key: string, direction: 'ASC' | 'DESC']>> = {
  activity: ['updated', 'DESC'],
  updated: ['updated', 'DESC'],
  begun: ['n', 'DESC'],
  newest: ['n', 'DESC'],
  tokens: ['tokens', 'DESC'],
  id: ['id', 'ASC'],
}
/** Number of rows examined at a time if conversation texts must be searched. */
const atOnce = 100

/** Page of rows in order, with the cursor of the next page if more rows follow. */
interface RowsPage {
  readonly rows: readonly ConversationRow[]
  readonly next: string | undefined
  readonly mayHave: MayHave | undefined
}

async function* rowsPage(
  store: EventStore,
  feed: Feed,
  filter: ConversationFilter,
): Fallible<StoreError | InvalidInput, RowsPage> {
  const { q, order, limit, cursor } = filter
  const build = feed.read((indexed) => `${indexed.build} ${order}`)
  const [value, n, given] = cursor === undefined ? [] : yield* unwrap(cursorOf(cursor, build, 3))
  const moves = feed.read((_, { db }) => movesIn(db))
  const since = given === undefined ? moves.last : Number(given)
  if (since < moves.first - 1) return yield forgotten
  let after: After | undefined = value === undefined || n === undefined ? undefined : { value, n }
  const mayHave = q === undefined ? undefined : await textsOf(feed, q)
  const rows: ConversationRow[] = []
  const mayExamine = createPatience()
  let isMore = true
  let isPatient = true
  while (isMore && rows.length < limit && isPatient) {
    const wanted = mayHave ? atOnce : limit + 1
    const page = feed.read((_, { db }) => rowsSince(db, filter, mayHave, { after, limit: wanted, since }))
    isMore = page.length === wanted
    for (const row of page) {
      if (rows.length === limit) {
        isMore = true
        break
      }
      after = { value: valueOf(row, order), n: row.n }
      if (!mayHave || (yield* isWanted(store, row, q ?? '', mayHave))) rows.push(row)
    }
    await breath()
    isPatient = mayExamine(page.length)
  }
  const next = isMore && after ? cursorText({ build, after: [after.value, after.n, since] }) : undefined
  return { rows, mayHave, next }
}

export async function* listRows(
  store: EventStore,
  feed: Feed,
  filter: ConversationFilter,
  isComplete: boolean,
): Fallible<StoreError | InvalidInput, RowList> {
  const { order, limit, cursor } = filter
  const { rows, mayHave, next } = yield* rowsPage(store, feed, filter)
  const countsIn = (db: DatabaseSync): Pick<RowList, 'total' | 'matching'> => {
    const total = countOf(db, { order, limit, cursor })
    if (!mayHave) return { total, matching: countOf(db, filter) }
    return { total, ...(next === undefined && cursor === undefined && { matching: rows.length }) }
  }
  return feed.read(({ rows: tables }, { db }) => ({
    items: rows.map((row) => {
      const curve = curveOf(tables, row)
      return { ...factsIn(row, Date.now()), curve, ...marksIn(db, tables, row, curve.length) }
    }),
    ...(next !== undefined && { next }),
    ...(isComplete && countsIn(db)),
    ...(isComplete && cursor === undefined && { counts: filterCounts(db) }),
  }))
}

/** Information about a conversation that is not a fork, has no notes and can be read. */
interface IndexedInfo {
  readonly id: string
  readonly title: string
  readonly messages: number
  readonly events: number
  readonly updated: string
}

/** A conversation as the index knows it; without information if it is a fork, has notes or cannot be read. */
type IndexedConversation = (IndexedInfo | Pick<IndexedInfo, 'id'>) & { readonly facts?: ConversationFacts }

/** Page of conversations with their information. */
export interface ConversationInfoPage {
  readonly items: readonly IndexedConversation[]
  readonly next?: string
}

export async function* listInfos(
  store: EventStore,
  feed: Feed,
  filter: ConversationFilter,
  withFacts: boolean,
): Fallible<StoreError | InvalidInput, ConversationInfoPage> {
  const { rows, next } = yield* rowsPage(store, feed, filter)
  const items = feed.read((_, { db }) => infosIn(db, rows, withFacts))
  return { items, ...(next !== undefined && { next }) }
}

/** Returns the information on the given conversations that are in the index, in no particular order. */
export const infosOf = (feed: Feed, ids: readonly string[]): ConversationInfoPage['items'] =>
  feed.read((_, { db }) =>
    infosIn(db, rowsWhere(db, [['id IN (SELECT value FROM json_each(?))', JSON.stringify(ids)]])),
  )

const infosIn = (
  db: DatabaseSync,
  rows: readonly ConversationRow[],
  withFacts = false,
): ConversationInfoPage['items'] => {
  const noted = notedIn(db, rows)
  const now = Date.now()
  return rows.map((row) => {
    const { id, parent, last, problem, title, time: updated, messages } = row
    const facts = withFacts && last >= 0 && { facts: factsIn(row, now) }
    return parent !== null || problem !== null || last < 0 || noted.has(id)
      ? { id, ...facts }
      : { id, title, messages, events: last + 1, updated, ...facts }
  })
}

const notedIn = (db: DatabaseSync, rows: readonly ConversationRow[]): ReadonlySet<string> =>
  new Set(
    db
      .prepare('SELECT conversation FROM noted WHERE conversation IN (SELECT value FROM json_each(?))')
      .all(JSON.stringify(rows.map(({ id }) => id)))
      .map(({ conversation }) => String(conversation)),
  )

/** Row after which a list continues, given by its sort value and number. */
interface After {
  readonly value: string | number
  readonly n: string | number
}

const valueOf = (row: ConversationRow, order: ListOrder): string | number => {
  switch (order) {
    case 'begun':
    case 'newest':
      return row.n
    case 'activity':
    case 'updated':
      return row.updated
    case 'tokens':
      return row.tokens
    case 'id':
      return row.id
  }
}

/** Threads that may contain a text: threads whose titles contain it, and, for each other thread, the ranges that may contain it. */
interface MayHave {
  readonly titled: ReadonlySet<number>
  readonly said: ReadonlyMap<number, readonly Candidate[]>
}

const textsOf = async (feed: Feed, q: string): Promise<MayHave> => {
  const wanted = fold(q)
  const said = new Map<number, Candidate[]>()
  const through = Number.MAX_SAFE_INTEGER
  if (isSearchable(q))
    for await (const candidate of candidatesOf(feed, { wanted, through })) {
      const before = said.get(candidate.thread)
      if (before) before.push(candidate)
      else said.set(candidate.thread, [candidate])
    }
  return { titled: feed.read((_, { db }) => rowsTitledWith(db, wanted)), said }
}

/**
 * Maximum number of conversations named in a query. If more may contain the text, the query names none, because a scan in list order
 * soon finds some of them.
 */
const mostNamed = 1_000

async function* isWanted(
  store: EventStore,
  row: ConversationRow,
  q: string,
  mayHave: MayHave,
): Fallible<StoreError, boolean> {
  if (fold(row.id).includes(fold(q)) || mayHave.titled.has(row.n)) return true
  for (const candidate of mayHave.said.get(row.n) ?? [])
    if (yield* textIn(store, row, candidate, fold(q))) return true
  return false
}

/** Returns the SQL conditions of a filter, except the text search. */
const conditionsOf = (filter: ConversationFilter): readonly Condition[] => {
  const { has = [], status, errors, actor, model, beginning } = filter
  const bits = has.reduce((all, trait) => all | traits[trait], 0)
  return [
    ...(bits > 0 ? [['has & ? = ?', bits, bits] as const] : []),
    ...(status === undefined ? [] : [statusCondition(status)]),
    ...(errors ? [['errors > 0'] as const] : []),
    ...(actor === undefined
      ? []
      : [['EXISTS (SELECT 1 FROM actors WHERE name = ? AND thread = n)', actor] as const]),
    ...(model === undefined
      ? []
      : [['EXISTS (SELECT 1 FROM models WHERE name = ? AND thread = n)', model] as const]),
    ...(beginning === undefined ? [] : [['substr(id, 1, ?) = ?', beginning.length, beginning] as const]),
  ]
}
/** SQL for the status of a row at a time; `?` is that time, minus `workingFor`. */
const statusThen = "CASE WHEN status = 'working' AND worked < ? THEN 'idle' ELSE status END"

const statusCondition = (wanted: readonly StatusName[]): Condition => [
  `${statusThen} IN (SELECT value FROM json_each(?))`,
  Date.now() - workingFor,
  JSON.stringify(wanted),
]

const filterCounts = (db: DatabaseSync): ListCounts => {
  const late = countWhere(db, [["status = 'working' AND worked < ?", Date.now() - workingFor]])
  const { status, ...others } = recordedCounts(db, stateOf(db))
  return { ...others, status: { ...status, working: status.working - late, idle: status.idle + late } }
}

/** Names the state of the index: another one after any change, by this connection or another. */
const stateOf = (db: DatabaseSync): string =>
  Object.values(
    db.prepare('SELECT data_version, total_changes() FROM pragma_data_version').get() ?? {},
  ).join()

/** Counts by the statuses as recorded, kept until the index changes: they need a scan of all conversations. */
const recordedCounts = memo((db: DatabaseSync): ListCounts => {
  const sums = traitNames.map((name) => `total(has & ${traits[name]} > 0) AS "${name}"`)
  // In the order of the index, which groups without sorting: half the time of a count by the status that each has now.
  const rows = db
    .prepare(
      `SELECT status, count(*) AS "all", total(errors > 0) AS errors, ${sums.join(', ')}
       FROM threads INDEXED BY threads_by_status GROUP BY status`,
    )
    .all()
  const sumOf = (name: string): number => rows.reduce((sum, row) => sum + Number(row[name]), 0)
  return {
    all: sumOf('all'),
    errors: sumOf('errors'),
    status: recordOf(statuses, (status) =>
      Number(rows.find((row) => row['status'] === status)?.['all'] ?? 0),
    ),
    has: recordOf(traitNames, sumOf),
    models: namesIn(db, 'models'),
    actors: namesIn(db, 'actors'),
  }
})

const mostNames = 50
const namesIn = (db: DatabaseSync, table: 'models' | 'actors'): readonly NameCount[] =>
  db
    .prepare(`SELECT name, count(*) AS count FROM ${table} GROUP BY name ORDER BY count DESC, name LIMIT ?`)
    .all(mostNames)
    .map(({ name, count }) => ({ name: String(name), count: Number(count) }))

const recordOf = <K extends string>(
  names: readonly K[],
  valueOf_: (name: K) => number,
): Readonly<Record<K, number>> =>
  Object.fromEntries(names.map((name) => [name, valueOf_(name)])) as Record<K, number>

type Condition = readonly [sql: string, ...given: readonly SQLInputValue[]]

const conditionSql = (conditions: readonly Condition[]): string =>
  conditions.length > 0 ? `WHERE ${conditions.map(([sql]) => sql).join(' AND ')}` : ''

const valuesIn = (conditions: readonly Condition[]): readonly SQLInputValue[] =>
  conditions.flatMap(([, ...given]) => given)

const rowsWhere = (
  db: DatabaseSync,
  conditions: readonly Condition[],
  end = '',
): readonly ConversationRow[] =>
  rowsFrom(db.prepare(`SELECT ${rowColumns} FROM threads ${conditionSql(conditions)} ${end}`))(
    ...valuesIn(conditions),
  )

const countOf = (db: DatabaseSync, filter: ConversationFilter): number => countWhere(db, conditionsOf(filter))

const countWhere = (db: DatabaseSync, conditions: readonly Condition[]): number =>
  Number(
    db
      .prepare(`SELECT count(*) AS count FROM threads ${conditionSql(conditions)}`)
      .get(...valuesIn(conditions))?.['count'],
  )

/** Returns the numbers of the first and last recorded moves. */
const movesIn = (db: DatabaseSync): { readonly first: number; readonly last: number } => {
  const { first, last } = db
    .prepare(
      `SELECT (SELECT min(number) FROM moves) AS first, (SELECT seq FROM sqlite_sequence WHERE name = 'moves') AS last`,
    )
    .get() ?? { first: null, last: null }
  return { first: Number(first ?? 0), last: Number(last ?? 0) }
}

const forgotten = invalidInput('cursor', 'is too old, and too much has changed since: start the list again')

interface Wanted {
  readonly after: After | undefined
  readonly limit: number
  /** Number of the last move when the list was begun. */
  readonly since: number
}

/**
 * Returns the rows in their order when the list was begun, so that paging returns each conversation once, even if a conversation moves
 * meanwhile.
 */
const rowsSince = (
  db: DatabaseSync,
  filter: ConversationFilter,
  mayHave: MayHave | undefined,
  { after, limit, since }: Wanted,
): readonly ConversationRow[] => {
  if (orders[filter.order][0] !== 'updated') return rowsOf(db, filter, mayHave, { after, limit })
  // Selects the first of several moves of a conversation: with min(), SQLite takes the other columns from the row with the minimum.
  const moved = db
    .prepare('SELECT thread, was, min(number) FROM moves WHERE number > ? GROUP BY thread')
    .all(since)
  if (moved.length === 0) return rowsOf(db, filter, mayHave, { after, limit })
  const was = new Map(moved.map((one) => [Number(one['thread']), Number(one['was'])]))
  const threads = JSON.stringify([...was.keys()])
  const stayed: Condition = ['n NOT IN (SELECT value FROM json_each(?))', threads]
  const others = rowsOf(db, filter, mayHave, { after, limit }, stayed)
  const back = rowsOf(db, filter, mayHave, { after: undefined, limit: -1 }, [
    'n IN (SELECT value FROM json_each(?))',
    threads,
  ])
    .map((row) => ({ ...row, updated: was.get(row.n) ?? row.updated }))
    .filter(
      ({ updated, n }) =>
        !after || updated < Number(after.value) || (updated === after.value && n < Number(after.n)),
    )
  return [...others, ...back].toSorted((a, b) => b.updated - a.updated || b.n - a.n).slice(0, limit)
}

const rowsOf = (
  db: DatabaseSync,
  filter: ConversationFilter,
  mayHave: MayHave | undefined,
  { after, limit }: Omit<Wanted, 'since'>,
  ...more: readonly Condition[]
): readonly ConversationRow[] => {
  const [key, direction] = orders[filter.order]
  const conditions: Condition[] = [...conditionsOf(filter), ...more]
  if (after) conditions.push([`(${key}, n) ${direction === 'ASC' ? '>' : '<'} (?, ?)`, after.value, after.n])
  if (mayHave && mayHave.titled.size + mayHave.said.size <= mostNamed)
    conditions.push([
      '(n IN (SELECT value FROM json_each(?)) OR instr(lower(id), ?) > 0)',
      JSON.stringify([...mayHave.titled, ...mayHave.said.keys()]),
      fold(filter.q ?? ''),
    ])
  const end = `ORDER BY ${key} ${direction}, n ${direction} LIMIT ${limit}`
  return rowsWhere(db, conditions, end)
}
