import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Feed } from './feed.ts'
import type { LineagePart } from './lineage.ts'
import { matchOf } from './texts.ts'

/** A range of a conversation's positions whose texts may contain the search text. */
export interface Candidate {
  readonly doc: number
  readonly thread: number
  /** First position of the range; both ends are inclusive. */
  readonly first: number
  readonly last: number
}

export interface CandidateQuery {
  /** Search text, case-folded. */
  readonly wanted: string
  /** Parts of the lineage of the conversation to search; undefined to search all conversations. */
  readonly parts?: readonly LineagePart[] | undefined
  /** Number of the newest index document to consider. */
  readonly through: number
}

/** Minimum number of documents for which a conversation is searched through the index; with fewer, all its texts are read. */
const fewest = 100

/** Yields candidates, newest first. A search of one conversation may also yield candidates from other conversations. */
export async function* candidatesOf(
  feed: Pick<Feed, 'read' | 'each'>,
  { wanted, parts, through }: CandidateQuery,
): AsyncGenerator<Candidate, void> {
  const own = parts && feed.read((_, { db }) => newestOf(db, parts, through))
  // With so few documents, all are candidates: no lookup in the index of all conversations is needed.
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

/** Returns the newest documents of a conversation, at most `fewest`, regardless of their texts. */
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
