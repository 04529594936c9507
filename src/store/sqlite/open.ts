import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { deniedFile, ownerAndMode } from '../denied-access.ts'
import { emptyFile, type StoreError } from '../errors.ts'
import { storeError } from './errors.ts'
import { migrate, unusable, versionOf } from './schema.ts'
import type { SqliteSettings } from './settings.ts'

/**
 * Number of WAL pages after which a commit moves them into the file. The process waits for this step: 4 ms, compared with 12 ms at
 * SQLite's default of 1,000. The average time of an append is the same.
 */
const checkpointPages = 250

/** Size of the page cache, in KiB. With SQLite's default of 2,000, reading a long history leaves nothing cached for the next read. */
const cachedKib = 16_384

/**
 * Opens the file and migrates its schema to the newest version.
 *
 * @param create true to create the file if it does not exist; otherwise a missing file, or one without a store, is `StoreNotFound`
 */
export async function* openDatabase(
  settings: SqliteSettings,
  create: boolean,
): Fallible<StoreError, DatabaseSync> {
  const file = yield* unwrap(lookAt(settings))
  if (!create && !file?.size) return yield notFound(settings.url, file !== undefined)
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
 * Returns the stats of the file at the path; undefined if it does not exist. If the path names something other than a file, the error
 * is `StoreCorrupt`, because opening a pipe could block forever.
 */
export const lookAt = ({
  url,
  path,
}: Pick<SqliteSettings, 'url' | 'path'>): E.Either<StoreError, Stats | undefined> => {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return !stats || stats.isFile() ? E.right(stats) : E.left(noFile(url))
  } catch (error) {
    return E.left(storeError(url, error))
  }
}

/**
 * Creates a file that only its owner can read and write, because conversations are private. SQLite gives its accompanying files the
 * same permissions.
 */
const createPrivate = (path: string): void => {
  try {
    // Only if it does not exist: closing a file that SQLite has open in this process would drop its locks.
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // Another process has just created it, or SQLite will report why it cannot be created.
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
    if (version === 0 && !create) return refuse(notFound(url, true))
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
    // What is erased must not be left in the pages that it frees.
    db.exec('PRAGMA secure_delete = ON')
    db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA cache_size = -${cachedKib}`)
    migrate(db, version)
    // From here on, waits do not block the process.
    db.exec('PRAGMA busy_timeout = 0')
    return E.right(db)
  } catch (error) {
    return refuse(openFailure(settings, error))
  }
}

/**
 * Returns the error for a file that cannot be opened. A file without write permission cannot be opened even for reading, because
 * readers also write to files next to it.
 */
export const openFailure = ({ url, path }: SqliteSettings, error: unknown): StoreError =>
  isUnwritable(path)
    ? readOnly(url, error, deniedFile(path))
    : existsSync(dirname(path))
      ? storeError(url, error)
      : noFolder(url, dirname(path))

/** Reports whether the file exists but cannot be opened for writing. SQLite reports this as "unable to open". */
const isUnwritable = (path: string): boolean => existsSync(path) && unwritableAmong(path).length > 0

/**
 * Returns those of a store's files, and their folder, that exist but cannot be written by this user. SQLite names the files after the
 * target of a link.
 */
export const unwritableAmong = (path: string): readonly string[] => {
  const real = existsSync(path) ? realpathSync(path) : path
  return [...new Set([real, `${real}-wal`, `${real}-shm`, dirname(path), dirname(real)])].filter((file) => {
    try {
      accessSync(file, constants.W_OK)
      return false
    } catch {
      return existsSync(file)
    }
  })
}

/** Returns the error with which every write will fail: this user cannot write a file, or there is no folder for it; else undefined. */
export const writeProblem = ({ url, path }: Pick<SqliteSettings, 'url' | 'path'>): StoreError | undefined => {
  const folder = dirname(path)
  if (!existsSync(folder)) return noFolder(url, folder)
  const files = unwritableAmong(path)
  return files.length === 0
    ? undefined
    : {
        _tag: 'StoreReadOnly',
        message: `${url}: ${unwritableText(files)}`,
        store: url,
      }
}

/** Says which files cannot be written, and what to do. */
export const unwritableText = (files: readonly string[]): string =>
  `this user cannot write ${files.map((file) => `${file} (of ${ownerAndMode(file)})`).join(', ')}: run the command as the owner of the store, or change owner or permissions (chown, chmod u+w)`

const notFound = (store: string, isEmpty: boolean): StoreError => ({
  _tag: 'StoreNotFound',
  message: `there is no store at ${store}${isEmpty ? emptyFile : ''}: check the path, or import a session first`,
  store,
})

const noFolder = (store: string, folder: string): StoreError => ({
  _tag: 'StoreUnavailable',
  message: `${store}: there is no folder ${folder}: create it, or check the path`,
  store,
})

const noFile = (store: string): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store} is not a file: check the path`,
  store,
})

const readOnly = (store: string, cause: unknown, denied: string | undefined): StoreError => ({
  _tag: 'StoreReadOnly',
  message: `${store} is not writable, and even reading it requires writing files next to it: ${denied ?? 'give this user write permission for the file and its folder'}, or copy the file elsewhere, together with its -wal file if there is one`,
  store,
  cause,
})
