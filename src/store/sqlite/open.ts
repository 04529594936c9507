import { accessSync, closeSync, constants, existsSync, openSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { ok, type Steps } from '../../result/steps.ts'
import type { StoreError } from '../errors.ts'
import { storeError } from './errors.ts'
import { migrate, unusable, versionOf } from './schema.ts'
import type { SqliteSettings } from './settings.ts'

/**
 * Number of WAL pages after which a commit moves them into the file, in one step that the process waits for: 4 ms instead of 12 for
 * SQLite's default of 1,000. Appends take as long on average.
 */
const checkpointPages = 250

/** Size of the page cache, in KiB. With SQLite's default of 2,000, a long history leaves nothing cached for the next read. */
const cachedKib = 16_384

/**
 * Opens the file and migrates its schema to the newest version.
 *
 * @param create create the file if it does not exist; otherwise a missing file, or one without a store, is `StoreNotFound`
 */
export async function* openDatabase(
  settings: SqliteSettings,
  create: boolean,
): Steps<StoreError, DatabaseSync> {
  const file = yield* ok(lookAt(settings))
  if (!create && !file?.size) return yield notFound(settings.url)
  if (!file) createPrivate(settings.path)
  const deadline = performance.now() + settings.timeout
  for (;;) {
    const opened = tryOpen(settings, create)
    if (E.isRight(opened)) return opened.right
    // When several processes create the file at once, SQLite reports some of the collisions without waiting.
    if (opened.left._tag !== 'StoreBusy' || performance.now() > deadline) return yield opened.left
    await sleep(5 + Math.random() * 20)
  }
}

/**
 * Returns the stats of the file at the path; undefined if it does not exist. `StoreCorrupt` for anything but a file: opening a pipe
 * could block for ever.
 */
export const lookAt = ({ url, path }: SqliteSettings): E.Either<StoreError, Stats | undefined> => {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return !stats || stats.isFile() ? E.right(stats) : E.left(noFile(url))
  } catch (error) {
    return E.left(storeError(url, error))
  }
}

/** Creates a private file, as conversations are private. SQLite gives its files beside this one the same permissions. */
const createPrivate = (path: string): void => {
  try {
    // Only if it does not exist: closing a file that SQLite has open in this process would drop its locks.
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // Another process has just created it, or SQLite will say why it cannot be created.
  }
}

const tryOpen = (settings: SqliteSettings, create: boolean): E.Either<StoreError, DatabaseSync> => {
  const { url, path, synchronous, timeout } = settings
  let db: DatabaseSync | undefined
  const refuse = (error: StoreError): E.Either<StoreError, never> => {
    db?.close()
    return E.left(error)
  }
  try {
    db = new DatabaseSync(path, { timeout })
    const version = versionOf(db)
    const refused = unusable(url, version)
    if (refused) return refuse(refused)
    if (version === 0 && !create) return refuse(notFound(url))
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
    db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA cache_size = -${cachedKib}`)
    migrate(db, version)
    // From here on we wait without blocking the process.
    db.exec('PRAGMA busy_timeout = 0')
    return E.right(db)
  } catch (error) {
    return refuse(openFailure(settings, error))
  }
}

/** Returns the error for a file that cannot be opened, even for reading: readers also write beside it. */
export const openFailure = ({ url, path }: SqliteSettings, error: unknown): StoreError =>
  isUnwritable(path) ? readOnly(url, error) : storeError(url, error)

/** True if the file exists but cannot be written, or no file can be created beside it: SQLite then reports "unable to open". */
const isUnwritable = (path: string): boolean => {
  if (!existsSync(path)) return false
  try {
    accessSync(path, constants.W_OK)
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch {
    return true
  }
}

const notFound = (store: string): StoreError => ({
  _tag: 'StoreNotFound',
  message: `there is no store at ${store}: check the path, or import a session first`,
  store,
})

const noFile = (store: string): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store} is not a file: check the path`,
  store,
})

const readOnly = (store: string, cause: unknown): StoreError => ({
  _tag: 'StoreReadOnly',
  message: `${store} cannot be written, and readers write beside it too: give this user write permission for the file and its folder, or copy the file elsewhere, with its -wal if there is one`,
  store,
  cause,
})
