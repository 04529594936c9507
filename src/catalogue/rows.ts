import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { ConversationEvent } from '../events/events.ts'
import type { EventKind } from '../projections/columns.ts'
import {
  chunkLength,
  type Columns,
  decodeTools,
  encodeColumns,
  encodeTools,
  type StoredColumns,
  storedColumns,
  type ToolsAt,
} from './columns.ts'
import { noTools } from './facts.ts'
import type { Taken, Thread, ThreadRow } from './thread.ts'
import { traitOf } from './traits.ts'
import { type Weave, weaveIn } from './weave.ts'

type Begun = Pick<ThreadRow, 'id' | 'parent' | 'from' | 'updated' | 'tokens' | 'calls' | 'messages' | 'has'>

/** A chunk of a conversation's columns. */
export interface Chunk {
  /** Position of its first event. */
  readonly start: number
  readonly columns: StoredColumns
  readonly tools: () => ToolsAt
}

/** The tables of conversations. */
export interface Rows {
  readonly byId: (id: string) => ThreadRow | undefined
  readonly byNumber: (n: number) => ThreadRow | undefined
  readonly add: (begun: Begun) => ThreadRow
  /** The chunks from one number through another, in order. */
  readonly chunks: (row: ThreadRow, first?: number, last?: number) => readonly Chunk[]
  /** What is shown at its own positions. */
  readonly weave: (row: ThreadRow, parent: Weave | undefined) => Weave
  /** The traits of what happened before a position. */
  readonly traits: (n: number, before: number) => number
  readonly note: (n: number, taken: Taken) => void
  readonly write: (thread: Thread) => void
}

export const rowsIn = (db: DatabaseSync): Rows => {
  const sql = {
    byId: db.prepare('SELECT * FROM threads WHERE id = ?'),
    byNumber: db.prepare('SELECT * FROM threads WHERE n = ?'),
    add: db.prepare(
      `INSERT INTO threads (id, parent, "from", last, updated, tokens, calls, messages, has)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *`,
    ),
    update: db.prepare(
      'UPDATE threads SET last = ?, updated = ?, tokens = ?, calls = ?, messages = ?, has = ?, problem = ? WHERE n = ?',
    ),
    chunks: db.prepare(
      'SELECT number, columns, tools FROM chunks WHERE thread = ? AND number BETWEEN ? AND ? ORDER BY number',
    ),
    chunk: db.prepare(
      `INSERT INTO chunks VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET calls = excluded.calls, columns = excluded.columns, tools = excluded.tools`,
    ),
    marks: db.prepare('SELECT position, first, last, target FROM marks WHERE thread = ?'),
    mark: db.prepare('INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    kinds: db.prepare('SELECT DISTINCT kind FROM marks WHERE thread = ? AND position < ?'),
    actor: db.prepare('INSERT INTO actors VALUES (?, ?) ON CONFLICT DO NOTHING'),
    model: db.prepare('INSERT INTO models VALUES (?, ?) ON CONFLICT DO NOTHING'),
  }

  const chunks: Rows['chunks'] = ({ n, from }, first = 0, last = Number.MAX_SAFE_INTEGER) =>
    sql.chunks.all(n, first, last).map(({ number, columns, tools }) => ({
      start: from + Number(number) * chunkLength,
      columns: storedColumns(columns as Uint8Array),
      tools: () => decodeTools(String(tools)),
    }))

  const weave: Rows['weave'] = (row, parent) => {
    const woven: Weave = { offset: row.from, parent, moments: [] }
    const marks = new Map(sql.marks.all(row.n).map((mark) => [mark['position'], mark]))
    for (const { start, columns, tools } of chunks(row)) {
      const called = tools()
      // There may be a million: nothing is made for each but what stays.
      for (let index = 0; index < columns.count; index++) {
        const position = start + index
        const own = columns.own[index] ?? 0
        const facts = { position, kind: columns.kindAt(index), own, tools: called.get(index) ?? noTools }
        const mark = marks.get(position)
        weaveIn(woven, mark ? { ...facts, ...turnedIn(mark) } : facts)
      }
    }
    return woven
  }

  return {
    byId: (id) => rowOf(sql.byId.get(id)),
    byNumber: (n) => rowOf(sql.byNumber.get(n)),
    add: ({ id, parent, from, updated, tokens, calls, messages, has }) =>
      rowOf(sql.add.get(id, parent, from, from - 1, updated, tokens, calls, messages, has)) as ThreadRow,
    chunks,
    weave,
    traits: (n, before) =>
      sql.kinds.all(n, before).reduce((has, { kind }) => has | traitOf(String(kind) as EventKind), 0),
    note: (n, { event, facts, marker }) => {
      const { position, kind, covers, target, answered } = facts
      for (const name of actorsOf(event)) sql.actor.run(name, n)
      for (const name of modelsOf(event)) sql.model.run(name, n)
      if (!covers && target === undefined && kind !== 'K') return
      const { hidden, tokens, method } = markOf(event)
      const tally = marker?.hides ? JSON.stringify(marker.hides) : null
      sql.mark.run(
        n,
        position,
        kind,
        covers?.first ?? null,
        covers?.last ?? null,
        target ?? null,
        hidden,
        tokens?.before ?? null,
        tokens?.after ?? null,
        method,
        tally,
        answered?.answer ?? null,
        answered?.calls ?? null,
      )
    },
    write: ({ row: { n, last, updated, tokens, calls, messages, has, problem }, chunks: changed }) => {
      for (const [number, columns] of changed)
        sql.chunk.run(n, number, callsIn(columns), encodeColumns(columns), encodeTools(columns))
      changed.clear()
      sql.update.run(last, updated, tokens, calls, messages, has, problem, n)
    },
  }
}

const callsIn = ({ receipts }: Columns): number => receipts.reduce((sum, receipt) => sum + receipt, 0)

/** What a mark covers, and where it leads to. */
const turnedIn = ({ first, last, target }: Readonly<Record<string, SQLOutputValue>>) => ({
  ...(typeof first === 'number' && { covers: { first, last: Number(last) } }),
  ...(typeof target === 'number' && { target }),
})

export const rowOf = (row: Readonly<Record<string, SQLOutputValue>> | undefined): ThreadRow | undefined =>
  row && {
    n: Number(row['n']),
    id: String(row['id']),
    parent: row['parent'] === null ? null : Number(row['parent']),
    from: Number(row['from']),
    last: Number(row['last']),
    updated: Number(row['updated']),
    tokens: Number(row['tokens']),
    calls: Number(row['calls']),
    messages: Number(row['messages']),
    has: Number(row['has']),
    problem: row['problem'] === null ? null : String(row['problem']),
  }

const markOf = ({ type, data }: ConversationEvent) => ({
  hidden: type === 'Condensed' || type === 'Truncated' ? data.messagesHidden : null,
  tokens: type === 'Condensed' || type === 'Truncated' ? data.tokens : undefined,
  method: type === 'Condensed' ? data.method : null,
})

/** What an event's writer may be looked for by. */
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
