import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Feed } from './feed.ts'
import type { LineagePart } from './lineage.ts'
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
export interface CandidateQuery {
  /** What is looked for, folded. */
  readonly wanted: string
  /** The conversation; undefined: all. */
  readonly parts?: readonly LineagePart[] | undefined
  /** The newest document to look at. */
  readonly through: number
}

/** Documents of a conversation from which on its texts are looked up in the index, and not all read. */
const fewest = 100

/** Candidates, the newest first; of a conversation, those of others may be among them. */
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

/** The newest documents of a conversation, whatever they have. */
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
