import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { StoreError } from '../errors.ts'
import { storeError } from './errors.ts'
import { onceFree } from './lock.ts'
import type { SqliteSettings } from './settings.ts'

/**
 * Moves everything from the write-ahead log to the file and empties the log, in which replaced events are still legible. In the file
 * itself, `secure_delete` has overwritten them. Waits for readers for at most the store's timeout; then the error is `StoreBusy`.
 */
export const scrub = (
  db: DatabaseSync,
  { url, timeout }: SqliteSettings,
): Promise<E.Either<StoreError, void>> =>
  onceFree(timeout, () => {
    try {
      const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {}
      return Number(busy) === 0 ? E.right(undefined) : E.left(isRead(url))
    } catch (error) {
      return E.left(storeError(url, error))
    }
  })

const isRead = (store: string): StoreError => ({
  _tag: 'StoreBusy',
  message: `the log of ${store} is being read by another process, so it still has what was erased: repeat the command`,
  store,
})
