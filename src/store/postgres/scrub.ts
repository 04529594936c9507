import type { SessionRead } from './reads.ts'
import type { PostgresSettings } from './settings.ts'

/** Tables that may have what was erased. */
const tables = ['events', 'blobs', 'blob_chunks']
/** Maximum time to rewrite a table, in milliseconds: six hours. */
const longest = 6 * 3_600_000

/**
 * Rewrites the tables, because a replaced row stays in its file until its place is used again. Waits for readers and writers for at most
 * the store's timeout; then the error is `StoreBusy`. The server's write-ahead log, its archive, standbys and dumps still have what was
 * erased (docs/postgres.md).
 */
export const scrub =
  ({ schema, timeout }: PostgresSettings): SessionRead<void> =>
  async (session) => {
    if (!session.isPooled)
      await session.query(`SELECT set_config('lock_timeout', $1, false)`, [String(timeout)])
    for (const table of tables)
      await session.query(`VACUUM (FULL) ${schema}.${table}`, [], undefined, longest)
  }
