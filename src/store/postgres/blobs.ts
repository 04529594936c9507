import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { orThrow } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import { type BlobInfo, type BlobStore, maxPage } from '../port.ts'
import type { SessionRead } from './reads.ts'
import type { QueryRow, DatabaseSession } from './session.ts'
import type { PostgresSettings } from './settings.ts'

/** Runs a read or an idempotent write on a session, again if the connection is lost. */
export type RunOnSession = <A>(work: SessionRead<A>) => TaskEither<StoreError, A>

const infoColumns = `sha256, bytes, (extract(epoch FROM time) * 1000)::bigint AS time`

/** Creates a blob store in the same schema as the events, with one table for blobs and one for their chunks. */
export const postgresBlobs = ({ schema }: PostgresSettings, run: RunOnSession): BlobStore => ({
  put: (sha256, chunks) =>
    run((session) => inTransaction(session, () => put(session, schema, sha256, chunks))),
  get: async function* (sha256) {
    if (!isHash(sha256)) return orThrow(run(() => Promise.resolve()))
    for (let n = 0; ; n++) {
      const [row] = await orThrow(
        run(({ query }) =>
          query(`SELECT chunk FROM ${schema}.blob_chunks WHERE sha256 = $1 AND n = $2`, [sha256, n], 'chunk'),
        ),
      )
      if (!(row?.['chunk'] instanceof Uint8Array)) return
      yield row['chunk']
    }
  },
  list: async function* () {
    for (let after = ''; ;) {
      const page = await orThrow(
        run(({ query }) =>
          query(
            `SELECT ${infoColumns} FROM ${schema}.blobs WHERE sha256 > $1 ORDER BY sha256 LIMIT ${maxPage}`,
            [after],
            'blobs',
          ),
        ),
      )
      for (const row of page) yield infoIn(row)
      const last = page.at(-1)
      if (!last) return
      after = String(last['sha256'])
    }
  },
  remove: (sha256, before) =>
    run(async ({ query }) => {
      await query(
        `WITH removed AS (DELETE FROM ${schema}.blobs WHERE sha256 = $1 AND time < to_timestamp($2::float8 / 1000) RETURNING sha256)
         DELETE FROM ${schema}.blob_chunks WHERE sha256 IN (SELECT r.sha256 FROM removed r)`,
        [sha256, before.getTime()],
      )
    }),
  info: (sha256) =>
    run(async ({ query }) => {
      const [row] = await query(
        `SELECT ${infoColumns} FROM ${schema}.blobs WHERE sha256 = $1`,
        [sha256],
        'blob',
      )
      return row && infoIn(row)
    }),
})

const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

const put = async (
  { query }: DatabaseSession,
  schema: string,
  sha256: string,
  chunks: Iterable<Uint8Array>,
): Promise<void> => {
  let bytes = 0
  for (const chunk of chunks) bytes += chunk.length
  // Of several writers at once, the others wait here for the first, and then find that it has written the chunks.
  const [row] = await query(
    `INSERT INTO ${schema}.blobs AS b VALUES ($1, $2, to_timestamp($3::float8 / 1000))
     ON CONFLICT (sha256) DO UPDATE SET time = greatest(b.time, excluded.time) RETURNING xmax = 0 AS fresh`,
    // The clock of `gc`, which compares these times, is a client's too.
    [sha256, bytes, Date.now()],
    'put_blob',
  )
  if (row?.['fresh'] !== true) return
  let n = 0
  for (const chunk of chunks)
    await query(
      `INSERT INTO ${schema}.blob_chunks VALUES ($1, $2, $3)`,
      [sha256, n++, Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)],
      'put_chunk',
    )
}

const inTransaction = async (session: DatabaseSession, work: () => Promise<void>): Promise<void> => {
  await session.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  try {
    await work()
    await session.query('COMMIT')
  } catch (error) {
    if (!session.isOver()) await session.query('ROLLBACK').catch(session.end)
    throw error
  }
}

const infoIn = ({ sha256, bytes, time }: QueryRow): BlobInfo => ({
  sha256: String(sha256),
  bytes: Number(bytes),
  time: new Date(Number(time)),
})
