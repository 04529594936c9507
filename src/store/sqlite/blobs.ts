import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { catchTyped, task } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { type BlobInfo, type BlobStore, maxPage } from '../port.ts'
import { storeError } from './errors.ts'
import type { Guard } from './guard.ts'
import { once } from '../../result/once.ts'
import { onceFree } from './lock.ts'

interface Settings {
  readonly url: string
  readonly timeout: number
}

/** Creates a blob store in the same database as the events, with one table for blobs and one for their chunks. */
export const sqliteBlobs = (
  db: DatabaseSync,
  { url, timeout }: Settings,
  guard: Guard,
  isClosed: () => boolean,
): BlobStore => {
  const statements = once(() => ({
    renew: db.prepare('UPDATE blobs SET time = max(time, ?) WHERE sha256 = ?'),
    insert: db.prepare('INSERT INTO blobs (sha256, bytes, time) VALUES (?, ?, ?)'),
    insertChunk: db.prepare('INSERT INTO blob_chunks (sha256, n, chunk) VALUES (?, ?, ?)'),
    chunk: db.prepare('SELECT chunk FROM blob_chunks WHERE sha256 = ? AND n = ?'),
    // Skips damaged names: the page after such a name would return it again.
    list: db.prepare(
      `SELECT sha256, bytes, time FROM blobs
       WHERE sha256 > ? AND sha256 NOT GLOB '*[^0-9a-f]*' AND typeof(sha256) = 'text' ORDER BY sha256 LIMIT ?`,
    ),
    info: db.prepare('SELECT sha256, bytes, time FROM blobs WHERE sha256 = ?'),
    remove: db.prepare('DELETE FROM blobs WHERE sha256 = ? AND time < ?'),
    removeChunks: db.prepare('DELETE FROM blob_chunks WHERE sha256 = ?'),
  }))

  const busy: StoreError = { _tag: 'StoreBusy', message: `${url} is being written to: try again`, store: url }

  /** Runs work in its own transaction. The work must not pause, because the writer uses the same connection. */
  const inTransaction = (work: () => void): E.Either<StoreError, void> => {
    if (isClosed()) return E.left(storeClosed(url))
    // The writer has just taken the lock that it was waiting for.
    if (db.isTransaction) return E.left(busy)
    try {
      db.exec('BEGIN IMMEDIATE')
      const changed = guard.schemaProblem()
      if (!changed) work()
      db.exec('COMMIT')
      const problem = changed ?? guard.fileProblem()
      return problem ? E.left(problem) : E.right(undefined)
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      return E.left(storeError(url, error))
    }
  }

  const reading = <A>(read: () => A): A => {
    if (isClosed()) throw toError(storeClosed(url))
    let changed: StoreError | undefined
    try {
      changed = guard.schemaProblem()
      if (!changed) return read()
    } catch (error) {
      throw toError(storeError(url, error))
    }
    throw toError(changed)
  }

  const insert = (sha256: string, chunks: Iterable<Uint8Array>, time: string): void => {
    let n = 0
    let bytes = 0
    for (const chunk of chunks) {
      statements().insertChunk.run(sha256, n++, chunk)
      bytes += chunk.length
    }
    statements().insert.run(sha256, bytes, time)
  }

  return {
    put: (sha256, chunks) => () =>
      onceFree(timeout, () =>
        inTransaction(() => {
          const time = new Date().toISOString()
          if (statements().renew.run(time, sha256).changes === 0) insert(sha256, chunks, time)
        }),
      ),
    get: async function* (sha256) {
      for (let n = 0; ; n++) {
        const chunk = reading(() => statements().chunk.get(sha256, n)?.['chunk'])
        if (!(chunk instanceof Uint8Array)) return
        yield chunk
      }
    },
    list: async function* () {
      for (let after = ''; ;) {
        const page = reading(() => statements().list.all(after, maxPage))
        for (const row of page) yield infoIn(row)
        const last = page.at(-1)
        if (!last) return
        after = String(last['sha256'])
      }
    },
    remove: (sha256, before) => () =>
      onceFree(timeout, () =>
        inTransaction(() => {
          if (statements().remove.run(sha256, before.toISOString()).changes > 0)
            statements().removeChunks.run(sha256)
        }),
      ),
    info: (sha256) =>
      task(() =>
        catchTyped<StoreError, BlobInfo | undefined>(async () => {
          const row = reading(() => statements().info.get(sha256))
          return row && infoIn(row)
        }),
      ),
  }
}

const infoIn = ({ sha256, bytes, time }: Readonly<Record<string, unknown>>): BlobInfo => ({
  sha256: String(sha256),
  bytes: Number(bytes),
  time: new Date(String(time)),
})
