import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Feed } from './feed.ts'
import type { LineagePart } from './lineage.ts'
import { matchOf } from './texts.ts'

/** A range of a conversation whose texts may contain the text searched for. */
export interface Candidate {
  readonly doc: number
  readonly thread: number
  /** First and last position, both inclusive. */
  readonly first: number
  readonly last: number
}

/** A query to the index for candidates. */
export interface CandidateQuery {
  /** The text searched for, case-folded. */
  readonly wanted: string
  /** Parts of the conversation to search; undefined for all conversations. */
  readonly parts?: readonly LineagePart[] | undefined
  /** The newest document to consider. */
  readonly through: number
}

/** Number of documents from which on a conversation's texts are looked up in the index rather than all read. */
const fewest = 100

/** Yields candidates, newest first; for one conversation, they may include those of others. */
export async function* candidatesOf(
  feed: Pick<Feed, 'read' | 'each'>,
  { wanted, parts, through }: CandidateQuery,
): AsyncGenerator<Candidate, void> {
  const own = parts && feed.read((_, { db }) => newestOf(db, parts, through))
  // What little there is need not be looked up among that of all others.
  if (own && own.length < fewest) return yield* own
  for await (const row of feed.each(
    `SELECT ${columns} FROM words CROSS JOIN docs ON docs.doc = words.rowid
     WHERE words MATCH ? AND words.rowid <= ? ORDER BY words.rowid DESC`,
    matchOf(wanted),
    own?.[0]?.doc ?? through,
  ))
    yield candidateOf(row)
}

const columns = 'docs.doc AS doc, thread, first, last'

/** Returns the newest documents of a conversation, regardless of their texts. */
const newestOf = (db: DatabaseSync, parts: readonly LineagePart[], through: number): readonly Candidate[] =>
  db
    .prepare(
      `SELECT ${columns} FROM docs WHERE thread IN (SELECT value FROM json_each(?)) AND doc <= ?
       ORDER BY doc DESC LIMIT ${fewest}`,
    )
    .all(JSON.stringify(parts.map(({ row }) => row.n)), through)
    .map(candidateOf)

const candidateOf = (row: Readonly<Record<string, SQLOutputValue>>): Candidate => ({
  doc: Number(row['doc']),
  thread: Number(row['thread']),
  first: Number(row['first']),
  last: Number(row['last']),
})
