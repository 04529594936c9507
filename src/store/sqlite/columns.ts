import { createHash } from 'node:crypto'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { hashOf } from '../../events/codec.ts'
import { archivedIn, conversationOf, eventId, notedIn, queuedIn, turnedIn } from '../../events/ids.ts'
import { breath } from '../breath.ts'
import type { StoreError } from '../errors.ts'
import { createLruCache } from '../lru.ts'
import { isSealedBlob } from '../marks.ts'

// Columns that no hash covers determine which events a stream has, in which order, whether a command is a repeat, and which content is
// removed. All of them can be derived from the events and the contents, except a stream's `name`, a blob's `time`, and whether a
// recorded end was cleared.

/** Result of checking the columns that no hash covers. */
export interface ColumnsReport {
  /** Description of the rows checked: for each kind of row, the number checked and the total number. */
  readonly looked: string
  /** Descriptions of the first problems; empty if the check found no problem. */
  readonly problems: readonly string[]
  /**
   * Number of events that may lack the `findable` mark because version 0.1.0 imported them from JSONL. If one of their commands is
   * repeated, its events are recorded a second time.
   */
  readonly unmarked: number
}

/** Functions that recognize the names of streams that commands search for their own earlier writes. */
const lookedIn = [conversationOf, notedIn, queuedIn]
/** Functions that recognize the names of streams that `verify` reads to the end. */
const verified = [...lookedIn, turnedIn, archivedIn]

/** Maximum number of problems to report. */
const mostProblems = 3
/** Number of event rows that one statement checks, which takes about two milliseconds. */
const window = 1_000
/** Size of a sample: number of ranges of `window` events, number of streams, and bytes of large content. */
const sampled = { windows: 10, streams: 1_000, blobBytes: 64 * 1024 * 1024 }

/**
 * Compares the columns of a file with what can be derived from its content: positions and revisions are contiguous and in the same
 * order, `findable` is set where a command searches for its own write, recorded ends of streams match events, and large contents match
 * their hashes.
 *
 * Reads one state of the file, on its own connection, with pauses in which the process can do other work. Throws the driver's errors.
 *
 * @param isSample true to check only some rows, which takes about the same time for any file
 */
export const checkColumns = async (path: string, isSample = false): Promise<ColumnsReport> => {
  const db = new DatabaseSync(path, { readOnly: true, readBigInts: true })
  try {
    db.exec('BEGIN')
    const problems: string[] = []
    const looked: string[] = []
    let unmarked = 0
    for (const [table, name, check] of checks) {
      let count = 0
      for (const step of check(db, isSample)) {
        count += step.rows
        problems.push(...step.found)
        unmarked += step.unmarked ?? 0
        if (problems.length >= mostProblems) break
        await breath()
      }
      // Counting the rows takes one long step, which is not needed if all rows were checked.
      const isWhole = !isSample && problems.length < mostProblems
      const all = isWhole ? count : numberOf(db.prepare(`SELECT count(*) FROM ${table}`))
      looked.push(`${thousands.format(count)} of ${thousands.format(all)} ${name}`)
      if (problems.length >= mostProblems) break
    }
    return { looked: looked.join(', '), problems: problems.slice(0, mostProblems), unmarked }
  } finally {
    db.close()
  }
}

const thousands = new Intl.NumberFormat('en')

export const notAsWritten = (
  { url, path }: { readonly url: string; readonly path: string },
  problems: readonly string[],
): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${url} was changed: its columns do not match its events (${problems.join('; ')}). Restore a backup or, if only findable is wrong, repair it with: ${markAll(path)}`,
  store: url,
})

/** Returns the command that marks all events as findable, which is always safe. */
export const markAll = (path: string): string => `sqlite3 '${path}' 'UPDATE events SET findable = 1'`

/**
 * Result of one step of a check: the number of rows checked, the problems found, and the number of events without the `findable` mark.
 */
interface Looked {
  readonly rows: number
  readonly found: readonly string[]
  readonly unmarked?: number
}

const numberOf = (statement: StatementSync, ...parameters: readonly SQLInputValue[]): bigint => {
  const [value] = Object.values(statement.get(...parameters) ?? {})
  return typeof value === 'bigint' ? value : 0n
}

function* eventProblems(db: DatabaseSync, isSample: boolean): Generator<Looked, void> {
  const extent = db.prepare(
    `SELECT count(*) AS rows, min(position) AS least, max(position) AS last
     FROM (SELECT position FROM events WHERE position > ? ORDER BY position LIMIT ${window})`,
  )
  const suspects = db.prepare(
    `SELECT e.position, e.stream, e.revision, e.id, e.metadata, e.findable, s.name, p.position AS before
     FROM events e LEFT JOIN streams s ON s.id = e.stream
       LEFT JOIN events p ON p.stream = e.stream AND p.revision = e.revision - 1
     WHERE e.position > ? AND e.position <= ? AND (
       s.name IS NULL OR e.revision < 0 OR (e.revision > 0 AND (p.position IS NULL OR p.position > e.position))
       OR e.findable <> 1 OR (e.findable IS NULL AND substr(e.id, 15, 1) = '5')
     )`,
  )
  const marked = db.prepare('SELECT min(revision) AS first FROM events WHERE stream = ? AND findable = 1')
  const firsts = createLruCache<unknown>(1_000)
  /**
   * Returns the revision of the first event of a stream that has the `findable` mark. Earlier events may have been imported by version
   * 0.1.0, which did not set the mark.
   */
  const firstMarked = (stream: bigint): unknown => {
    if (firsts.get(`${stream}`) === undefined) firsts.set(`${stream}`, marked.get(stream)?.['first'])
    return firsts.get(`${stream}`)
  }
  const last = numberOf(db.prepare('SELECT max(position) FROM events'))
  const step = isSample ? last / BigInt(sampled.windows) : 0n
  for (let after = 0n; after < last;) {
    const { rows, least, last: until } = extent.get(after) ?? {}
    if (typeof rows !== 'bigint' || typeof least !== 'bigint' || typeof until !== 'bigint') return
    const found: string[] = []
    if (until - after !== rows) found.push(gapAfter(after, least))
    let unmarked = 0
    for (const suspect of suspects.iterate(after, until)) {
      const problem = orderProblem(suspect)
      if (problem !== undefined) found.push(problem)
      else if (isUnmarked(suspect)) {
        const { stream, revision } = suspect
        const earliest = firstMarked(BigInt(Number(stream)))
        if (typeof earliest === 'bigint' && earliest < Number(revision)) found.push(markMissing(suspect))
        else unmarked++
      }
    }
    yield { rows: Number(rows), found, unmarked }
    const next = after + step
    after = next > until ? next : until
  }
}

const gapAfter = (after: bigint, first: bigint): string =>
  first === after + 1n
    ? `some events between positions ${first} and ${after + BigInt(window)} are missing: they were removed or moved`
    : `the events at positions ${after + 1n} to ${first - 1n} are missing: they were removed or moved`

type Row = Record<string, unknown>

const placeOf = ({ position, revision, name }: Row): string =>
  `event ${String(revision)} of ${String(name)} (position ${String(position)})`

const orderProblem = (row: Row): string | undefined => {
  const { position, revision, findable, name, before } = row
  if (typeof name !== 'string') return `the event at position ${String(position)} belongs to no stream`
  if (typeof revision !== 'bigint' || revision < 0n) return `${placeOf(row)} has a revision below 0`
  if (revision > 0n && typeof before !== 'bigint') return `the event before ${placeOf(row)} is missing`
  if (typeof before === 'bigint' && before > Number(position))
    return `${placeOf(row)} comes before the preceding event of its stream`
  return findable === null || findable === 1n
    ? undefined
    : `${placeOf(row)} has neither 1 nor NULL in findable`
}

const markMissing = (row: Row): string =>
  `${placeOf(row)} has NULL in findable: if its command is repeated, its events are recorded a second time`

interface Commanded {
  readonly commandId?: unknown
  readonly actor?: { readonly kind?: unknown }
}

/**
 * Reports whether an event lacks the `findable` mark although it is the first event of a command that, when repeated, searches for this
 * event. Imports need no mark, because they search elsewhere.
 */
const isUnmarked = ({ findable, name, id, metadata }: Row): boolean => {
  const stream = String(name)
  if (findable !== null || !lookedIn.some((of) => of(stream) !== undefined)) return false
  try {
    const { commandId, actor } = JSON.parse(String(metadata)) as Commanded
    return actor?.kind !== 'import' && id === eventId(stream, String(commandId), 0)
  } catch {
    return false
  }
}

function* endProblems(db: DatabaseSync, isSample: boolean): Generator<Looked, void> {
  const streams = db.prepare(
    `SELECT s.id AS stream, s.name, s.last, s.hash, e.id, e.type, e.data, e.metadata
     FROM streams s LEFT JOIN events e ON e.stream = s.id AND e.revision = s.last
     WHERE s.id > ? ORDER BY s.id LIMIT 20`,
  )
  const last = numberOf(db.prepare('SELECT max(id) FROM streams'))
  const steps = BigInt(sampled.streams / 20)
  const step = isSample ? last / steps : 0n
  for (let after = -(2n ** 63n); after < last;) {
    const rows = streams.all(after)
    const until = rows.at(-1)?.['stream']
    if (typeof until !== 'bigint') return
    yield { rows: rows.length, found: rows.flatMap((row) => endProblem(row, isSample) ?? []) }
    const next = after < 0n ? until : after + step
    after = next > until ? next : until
  }
}

/**
 * Describes the problem with the recorded end of a stream; returns undefined if the end is correct.
 *
 * @param isSample true to include the ends that `verify` compares with their conversations
 */
const endProblem = (
  { name, last, hash, id, type, data, metadata }: Row,
  isSample: boolean,
): string | undefined => {
  if (last === null && hash === null) return undefined
  if (typeof last !== 'bigint' || typeof hash !== 'string')
    return `the recorded end of ${String(name)} lacks its ${last === null ? 'revision' : 'hash'}`
  if (!isSample && verified.some((of) => of(String(name)) !== undefined)) return undefined
  if (typeof data !== 'string')
    return `${String(name)} once had an event ${last}, which is missing: its end was lost`
  const texts = { id: String(id), type: String(type), data, metadata: String(metadata) }
  return hashOf(texts) === hash
    ? undefined
    : `event ${last} of ${String(name)} does not match the recorded end: it was changed`
}

function* blobProblems(db: DatabaseSync, isSample: boolean): Generator<Looked, void> {
  // Names from both tables, because a changed name is in only one of them.
  const next = db.prepare(
    `SELECT min(name) AS name FROM (SELECT min(sha256) AS name FROM blobs WHERE sha256 > ?1
       UNION ALL SELECT min(sha256) FROM blob_chunks WHERE sha256 > ?1)`,
  )
  const blob = db.prepare('SELECT bytes, time FROM blobs WHERE sha256 = ?')
  const chunk = db.prepare('SELECT chunk FROM blob_chunks WHERE sha256 = ? AND n = ?')
  const chunks = db.prepare('SELECT count(*) FROM blob_chunks WHERE sha256 = ?')
  let left = isSample ? sampled.blobBytes : Infinity
  for (let after: unknown = ''; left > 0;) {
    const { name } = next.get(String(after)) ?? {}
    if (typeof name !== 'string') return
    const hash = createHash('sha256')
    let bytes = 0
    let n = 0
    let isSealed = false
    for (; ; n++) {
      const { chunk: part } = chunk.get(name, n) ?? {}
      if (!(part instanceof Uint8Array)) break
      if (n === 0) isSealed = isSealedBlob(part)
      hash.update(part)
      bytes += part.length
      yield { rows: 0, found: [] }
    }
    // Only the keys tell whether an encrypted content is whole: reading it does.
    const isWhole = BigInt(n) === numberOf(chunks, name) && (isSealed || hash.digest('hex') === name)
    const problem = blobProblem(name, blob.get(name), bytes, isWhole)
    yield { rows: 1, found: problem === undefined ? [] : [problem] }
    left -= bytes + 1
    after = name
  }
}

const blobProblem = (
  name: string,
  row: Row | undefined,
  bytes: number,
  isWhole: boolean,
): string | undefined => {
  if (!row) return `chunks of content ${name} exist, but the content is not listed, so it is never removed`
  if (!isWhole) return `the chunks of content ${name} do not match this hash`
  if (row['bytes'] !== BigInt(bytes))
    return `content ${name} has ${bytes} bytes, which differs from the recorded size`
  return isTime(String(row['time'])) ? undefined : `content ${name} has an invalid time`
}

const isTime = (text: string): boolean =>
  !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text

const checks = [
  ['events', 'events', eventProblems],
  ['streams', 'streams', endProblems],
  ['blobs', 'large contents', blobProblems],
] as const
