import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { ConversationEvent } from '../events/events.ts'
import type { EventKind } from '../projections/columns.ts'
import { noCalls, type TurnCalls } from '../projections/retries.ts'
import {
  chunkLength,
  decodeTools,
  flags,
  encodeColumns,
  encodeTools,
  type StoredColumns,
  decodeColumns,
  type ToolsAt,
} from './columns.ts'
import { decodeShown, encodeShown, type ShownSegments } from './shown-segments.ts'
import type { TokenMeter } from './meter.ts'
import { addMessages, noSum, type TokenSum, type HiddenTally } from './tally.ts'
import type { ClassifiedEvent, ConversationBuffer, ConversationRow } from './conversation-row.ts'
import type { CostSoFar } from './cost-so-far.ts'
import { type StatusActivity, statusOf } from './status.ts'
import { traitOf } from './traits.ts'
import type { ContextMark, MarkChange } from './weave.ts'

type Begun = Pick<
  ConversationRow,
  | 'id'
  | 'parent'
  | 'from'
  | 'tokens'
  | 'calls'
  | 'replies'
  | 'messages'
  | 'errors'
  | 'has'
  | 'model'
  | 'meter'
>

/** Stored columns of up to `chunkLength` successive events of a conversation. */
export interface Chunk {
  /** Position of the chunk's first event. */
  readonly start: number
  readonly columns: StoredColumns
  readonly tools: () => ToolsAt
  /** Returns the meter before the chunk's first event. */
  readonly meter: () => TokenMeter
}

/** A row of the table `marks`. */
export interface KeptMark extends ContextMark {
  readonly own: number
  /** Estimate that the marker records of the hidden content. */
  readonly before: number
  /** Returns the meter after the mark. */
  readonly meter: () => TokenMeter
  readonly hides: HiddenTally | undefined
}

export type ConversationCounts = Pick<ConversationRow, 'calls' | 'replies' | 'messages' | 'errors'>

/** Access to the tables of conversations, chunks and marks. */
export interface ConversationTable {
  readonly byId: (id: string) => ConversationRow | undefined
  readonly byNumber: (n: number) => ConversationRow | undefined
  readonly add: (begun: Begun) => ConversationRow
  /** Returns a conversation's chunks from number `first` through `last`, in order. */
  readonly chunks: (row: ConversationRow, first?: number, last?: number) => readonly Chunk[]
  /** Returns the tallies of the messages in a range of chunks; both ends of the range are inclusive. */
  readonly sums: (
    n: number,
    first: number,
    last: number,
  ) => readonly (HiddenTally & Pick<TokenSum, 'tokens'>)[]
  /** Returns the numbers of replies with a receipt, of messages and of errors in the chunks before the chunk `before`. */
  readonly counts: (n: number, before: number) => ConversationCounts
  /** Returns the last row of `marks` at or before a position, considering only the conversation's own events. */
  readonly markThrough: (n: number, position: number) => KeptMark | undefined
  /** Returns the segments shown after a mark whose contents are stored. */
  readonly shown: (n: number, position: number) => ShownSegments
  /** Returns the trait bits that result from a conversation's own events before a position. */
  readonly traits: (n: number, before: number) => number
  /**
   * Records the actor and the models of an event and, if the event is a mark, its row in `marks`.
   *
   * @param turn the change that the event makes, if it is a mark
   */
  readonly note: (n: number, found: ClassifiedEvent, turn: MarkChange | undefined) => void
  readonly write: (thread: ConversationBuffer) => void
  /** Writes the changed chunks of a conversation, but not its row in `threads`. */
  readonly writeChunks: (thread: ConversationBuffer) => void
}

export const rowsIn = (db: DatabaseSync): ConversationTable => {
  const sql = {
    byId: rowsFrom(db.prepare(`SELECT ${rowColumns} FROM threads WHERE id = ?`)),
    byNumber: rowsFrom(db.prepare(`SELECT ${rowColumns} FROM threads WHERE n = ?`)),
    add: rowsFrom(
      db.prepare(
        `INSERT INTO threads (id, parent, "from", last, updated, time, title, tokens, calls, replies, messages, errors, has, model, meter)
       VALUES (?, ?, ?, ?, 0, '', '', ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${rowColumns}`,
      ),
    ),
    update: db.prepare(
      `UPDATE threads SET last = ?, updated = ?, time = ?, title = ?, tokens = ?, meter = ?, calls = ?, replies = ?, messages = ?, errors = ?, has = ?, begun = ?, source = ?,
         model = ?, usd = ?, priced = ?, unsure = ?, recent = ?, status = ?, worked = ?, activity = ?, attempts = ?, turns = ?, problem = ?
       WHERE n = ?`,
    ),
    chunks: db.prepare(
      'SELECT number, columns, tools, meter FROM chunks WHERE thread = ? AND number BETWEEN ? AND ? ORDER BY number',
    ),
    chunk: db.prepare(
      `INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET calls = excluded.calls, replies = excluded.replies, messages = excluded.messages,
         errors = excluded.errors, sum = excluded.sum,
         columns = excluded.columns, tools = excluded.tools`,
    ),
    sums: db.prepare('SELECT sum FROM chunks WHERE thread = ? AND number BETWEEN ? AND ?'),
    counts: db.prepare(
      `SELECT total(calls) AS calls, total(replies) AS replies, total(messages) AS messages, total(errors) AS errors
       FROM chunks WHERE thread = ? AND number < ?`,
    ),
    markThrough: db.prepare(
      `SELECT position, kind, target, first, last, own, before, meter, since, tally FROM marks
       WHERE thread = ? AND position <= ? ORDER BY position DESC LIMIT 1`,
    ),
    mark: db.prepare('INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    shown: db.prepare('SELECT segments FROM contents WHERE thread = ? AND position = ?'),
    show: db.prepare('INSERT INTO contents VALUES (?, ?, ?)'),
    kinds: db.prepare('SELECT DISTINCT kind FROM marks WHERE thread = ? AND position < ?'),
    actor: db.prepare('INSERT INTO actors VALUES (?, ?) ON CONFLICT DO NOTHING'),
    model: db.prepare('INSERT INTO models VALUES (?, ?) ON CONFLICT DO NOTHING'),
  }

  const chunks: ConversationTable['chunks'] = ({ n, from }, first = 0, last = Number.MAX_SAFE_INTEGER) =>
    sql.chunks.all(n, first, last).map(({ number, columns, tools, meter }) => ({
      start: from + Number(number) * chunkLength,
      columns: decodeColumns(columns as Uint8Array),
      tools: () => decodeTools(String(tools)),
      meter: () => JSON.parse(String(meter)) as TokenMeter,
    }))

  const writeChunks: ConversationTable['writeChunks'] = ({ row: { n }, chunks: changed }) => {
    for (const [number, columns] of changed) {
      const { kinds, own, tools, flags: marked } = columns
      const sum = noSum()
      addMessages(
        sum,
        { kindAt: (index) => kinds[index] ?? '-', own, tools: () => tools },
        0,
        kinds.length - 1,
      )
      const count = (flag: number): number => marked.reduce((all, one) => all + ((one & flag) > 0 ? 1 : 0), 0)
      const said = JSON.stringify(sum)
      const counts = [count(flags.call), count(flags.reply), sum.messages, count(flags.failed)] as const
      sql.chunk.run(
        n,
        number,
        ...counts,
        said,
        encodeColumns(columns),
        encodeTools(columns),
        JSON.stringify(columns.meter),
      )
    }
    changed.clear()
  }

  return {
    byId: (id) => sql.byId(id)[0],
    byNumber: (n) => sql.byNumber(n)[0],
    add: ({ id, parent, from, tokens, calls, replies, messages, errors, has, model, meter }) => {
      const counts = [calls, replies, messages, errors] as const
      const [row] = sql.add(id, parent, from, from - 1, tokens, ...counts, has, model, JSON.stringify(meter))
      return row as ConversationRow
    },
    chunks,
    sums: (n, first, last) =>
      sql.sums
        .all(n, first, last)
        .map(({ sum }) => JSON.parse(String(sum)) as HiddenTally & Pick<TokenSum, 'tokens'>),
    counts: (n, before) => {
      const { calls, replies, messages, errors } = sql.counts.get(n, before) ?? {}
      return {
        calls: Number(calls),
        replies: Number(replies),
        messages: Number(messages),
        errors: Number(errors),
      }
    },
    markThrough: (n, position) => markOf(sql.markThrough.get(n, position)),
    shown: (n, position) => decodeShown(String(sql.shown.get(n, position)?.['segments'])),
    traits: (n, before) =>
      sql.kinds.all(n, before).reduce((has, { kind }) => has | traitOf(String(kind) as EventKind), 0),
    note: (n, { event, facts }, turn) => {
      const { position, kind, covers, target, answered } = facts
      for (const name of actorsOf(event)) sql.actor.run(name, n)
      for (const name of modelsOf(event)) sql.model.run(name, n)
      if (!turn) return
      const { hidden, tokens, method } = saidBy(event)
      const { own, hides, meter, since, shown } = turn
      sql.mark.run(
        n,
        position,
        kind,
        covers?.first ?? null,
        covers?.last ?? null,
        target ?? null,
        own,
        JSON.stringify(meter),
        since,
        hidden,
        tokens?.before ?? null,
        tokens?.after ?? null,
        method,
        hides ? JSON.stringify(hides) : null,
        answered?.answer ?? null,
        answered?.calls ?? null,
      )
      if (shown) sql.show.run(n, position, encodeShown(shown))
    },
    write: (thread) => {
      writeChunks(thread)
      const { n, last, updated, time, title, tokens, calls, messages, errors, has, begun, model } = thread.row
      const { replies, source, meter, costs, activity, attempts, worked, turns, problem } = thread.row
      const { usd, priced, unsure, recent } = costs
      sql.update.run(
        last,
        updated,
        time,
        title,
        tokens,
        JSON.stringify(meter),
        calls,
        replies,
        messages,
        errors,
        has,
        begun,
        source,
        model,
        usd,
        priced,
        unsure,
        recent ? JSON.stringify(recent) : null,
        statusOf(activity),
        worked,
        JSON.stringify(activity),
        attempts === noCalls ? null : JSON.stringify(attempts),
        turns,
        problem,
        n,
      )
    },
    writeChunks,
  }
}

const markOf = (row: Readonly<Record<string, SQLOutputValue>> | undefined): KeptMark | undefined => {
  if (!row) return undefined
  const hides = row['tally'] === null ? undefined : (JSON.parse(String(row['tally'])) as HiddenTally)
  return {
    position: Number(row['position']),
    kind: String(row['kind']) as EventKind,
    target: Number(row['target']),
    covers: hides && { first: Number(row['first']), last: Number(row['last']) },
    own: Number(row['own']),
    before: Number(row['before'] ?? 0),
    meter: () => JSON.parse(String(row['meter'])) as TokenMeter,
    since: Number(row['since']),
    hides,
  }
}

/** Columns of `threads`, in the order in which `rowOf` expects them. */
export const rowColumns = `n, id, parent, "from", last, updated, time, title, tokens, meter, calls, replies, messages, errors, has, begun,
  source, model, usd, priced, unsure, recent, activity, attempts, worked, turns, problem`

/** Returns a function that reads all rows of a statement that returns `rowColumns`, as arrays: reading objects takes twice as long. */
export const rowsFrom =
  (statement: StatementSync) =>
  (...given: readonly SQLInputValue[]): readonly ConversationRow[] => {
    statement.setReturnArrays(true)
    const rows: readonly unknown[] = statement.all(...given)
    return rows.map((row) => rowOf(row as readonly SQLOutputValue[]))
  }

const rowOf = (row: readonly SQLOutputValue[]): ConversationRow => {
  const { 0: n, 1: id, 2: parent, 3: from, 4: last, 5: updated, 6: time, 7: title, 8: tokens } = row
  const { 9: meter, 10: calls, 11: replies, 12: messages, 13: errors, 14: has, 15: begun } = row
  const { 16: source, 17: model, 18: usd, 19: priced, 20: unsure, 21: recent } = row
  const { 22: activity, 23: attempts, 24: worked, 25: turns, 26: problem } = row
  return {
    n: Number(n),
    id: String(id),
    parent: parent === null ? null : Number(parent),
    from: Number(from),
    last: Number(last),
    updated: Number(updated),
    time: String(time),
    title: String(title),
    tokens: Number(tokens),
    meter: JSON.parse(String(meter)) as TokenMeter,
    calls: Number(calls),
    replies: Number(replies),
    messages: Number(messages),
    errors: Number(errors),
    has: Number(has),
    begun: String(begun),
    source: textOrNull(source),
    model: textOrNull(model),
    costs: {
      usd: Number(usd),
      priced: Number(priced),
      unsure: Number(unsure),
      recent: recent === null ? undefined : (JSON.parse(String(recent)) as CostSoFar['recent']),
    },
    activity: JSON.parse(String(activity)) as StatusActivity,
    attempts: attempts === null ? noCalls : (JSON.parse(String(attempts)) as TurnCalls),
    worked: Number(worked),
    turns: Number(turns),
    problem: textOrNull(problem),
  }
}
const textOrNull = (value: SQLOutputValue | undefined): string | null =>
  value === null ? null : String(value)

const saidBy = ({ type, data }: ConversationEvent) => ({
  hidden: type === 'Condensed' || type === 'Truncated' ? data.messagesHidden : null,
  tokens: type === 'Condensed' || type === 'Truncated' ? data.tokens : undefined,
  method: type === 'Condensed' ? data.method : null,
})

/** Returns the names by which an event's actor can be found: the actor's kind and, if present, its id. */
const actorsOf = ({ metadata: { actor } }: ConversationEvent): readonly string[] =>
  actor.id === undefined ? [actor.kind] : [actor.kind, actor.id]

const modelsOf = ({ type, data }: ConversationEvent): readonly string[] => {
  const model =
    type === 'Configured'
      ? data.model
      : type === 'MessageAppended' || type === 'Condensed'
        ? data.origin?.model
        : undefined
  return model === undefined ? [] : [model]
}
