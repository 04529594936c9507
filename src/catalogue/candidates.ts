import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Part } from './lineage.ts'
import { matchOf } from './texts.ts'

/** A stretch of a conversation whose texts may have what is looked for. */
export interface Candidate {
  readonly doc: number
  readonly thread: number
  /** Positions. */
  readonly first: number
  readonly last: number
}

/** What is asked of the index. */
export interface Asked {
  /** What is looked for, folded. */
  readonly wanted: string
  /** The conversation; undefined: all. */
  readonly parts?: readonly Part[] | undefined
  /** The newest document to look at. */
  readonly through: number
}

/** Candidates that are looked up at a time. */
const atOnce = 100

const columns = 'docs.doc AS doc, thread, first, last'
const words = `SELECT ${columns} FROM words CROSS JOIN docs ON docs.doc = words.rowid WHERE words MATCH ?`
const own = 'thread IN (SELECT value FROM json_each(?))'

/** The newest candidates; fewer than `atOnce` if there are no more. */
export const candidatesIn = (db: DatabaseSync, { wanted, parts, through }: Asked): readonly Candidate[] => {
  const rows = (sql: string, ...given: readonly (string | number)[]): readonly Candidate[] =>
    db
      .prepare(sql)
      .all(...given)
      .map(candidateOf)
  const order = `ORDER BY words.rowid DESC LIMIT ${atOnce}`
  if (!parts) return rows(`${words} AND words.rowid <= ? ${order}`, matchOf(wanted), through)
  const threads = JSON.stringify(parts.map(({ row }) => row.n))
  const few = rows(
    `SELECT ${columns} FROM docs WHERE ${own} AND doc <= ? ORDER BY doc DESC LIMIT ${atOnce}`,
    threads,
    through,
  )
  // What little there is need not be looked up among that of all others.
  const found =
    few.length < atOnce
      ? few
      : rows(`${words} AND words.rowid <= ? AND ${own} ${order}`, matchOf(wanted), through, threads)
  return found
}

export const isLastPage = (page: readonly Candidate[]): boolean => page.length < atOnce

/** The newest candidates of all conversations; fewer than `limit` if there are no more. What is passed over costs as much as what is found. */
export const manyCandidatesIn = (
  db: DatabaseSync,
  { wanted, through }: Asked,
  limit: number,
): readonly Candidate[] =>
  db
    .prepare(`${words} AND words.rowid <= ? ORDER BY words.rowid DESC LIMIT ?`)
    .all(matchOf(wanted), through, limit)
    .map(candidateOf)

const candidateOf = (row: Readonly<Record<string, SQLOutputValue>>): Candidate => ({
  doc: Number(row['doc']),
  thread: Number(row['thread']),
  first: Number(row['first']),
  last: Number(row['last']),
})
