import { accessSync, constants, realpathSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { bytesText } from '../diagnosis.ts'
import type { StoreError } from '../errors.ts'
import { storeError } from './errors.ts'
import { inThread } from './in-thread.ts'
import { currentVersion } from './schema.ts'
import type { SqliteSettings } from './settings.ts'

/**
 * Rewrites the file without its unused parts, unless it is of the current version already. The version is raised afterwards, so that a
 * rewrite that was interrupted is repeated. See `StoreAbilities.rewrite`.
 */
export const rewrite = async (
  db: DatabaseSync,
  { url, path, timeout }: SqliteSettings,
  { dryRun }: { readonly dryRun: boolean },
): Promise<E.Either<StoreError, number | undefined>> => {
  try {
    const { version, bytes } =
      db
        .prepare(
          `SELECT user_version AS version, page_count * page_size AS bytes
           FROM pragma_user_version, pragma_page_count, pragma_page_size`,
        )
        .get() ?? {}
    if (version === currentVersion) return E.right(undefined)
    const size = Number(bytes)
    const lack = lackOfRoom(url, size, [dirname(realpathSync(path)), temporaryFolder()])
    if (lack) return E.left(lack)
    if (!dryRun) await inThread(vacuum, path, timeout, currentVersion)
    return E.right(size)
  } catch (error) {
    const failure = storeError(url, error)
    return E.left(failure._tag === 'StoreBusy' ? isWritten(url, error) : failure)
  }
}

/** Rewrites a file and raises its version; called in a separate thread. Other processes cannot write meanwhile. */
const vacuum = (path: string, timeout: number, version: number): void => {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const db = new DatabaseSync(path, { timeout })
  try {
    db.exec('PRAGMA secure_delete = ON; PRAGMA synchronous = FULL')
    const deadline = performance.now() + timeout
    for (;;)
      try {
        db.exec('VACUUM')
        break
      } catch (error) {
        // SQLite does not wait if somebody has written since it began to read.
        if ((Number(Reflect.get(Object(error), 'errcode')) & 0xff) !== 5 || performance.now() > deadline)
          throw error
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
    db.exec(`PRAGMA user_version = ${version}`)
  } finally {
    // As the log has the whole file, this moves it there, unless others read it: then `scrub` does, after the erasure.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
  }
}

/** Returns the error if there is no room for a second copy of the file in each of the folders, which may be on one disk. */
export const lackOfRoom = (
  url: string,
  bytes: number,
  folders: readonly string[],
): StoreError | undefined => {
  for (const [, on] of Map.groupBy(folders, (folder) => statSync(folder).dev)) {
    const needed = bytes * on.length
    const [folder = ''] = on
    const { bavail, bsize } = statfsSync(folder)
    if (bavail * bsize < needed) return noRoom(url, folder, needed, bavail * bsize)
  }
  return undefined
}

/** Returns the folder in which SQLite makes its temporary copy (https://www.sqlite.org/tempfiles.html, section 5). */
const temporaryFolder = (): string => {
  if (process.platform === 'win32') return tmpdir()
  const { SQLITE_TMPDIR, TMPDIR } = process.env
  return (
    [SQLITE_TMPDIR, TMPDIR, '/var/tmp', '/usr/tmp', '/tmp'].find(
      (folder) => folder !== undefined && isWritable(folder),
    ) ?? '.'
  )
}

const isWritable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

const why =
  'before anything is erased, its file must be rewritten once, because 0.1.0 left removed content in its unused parts'

const noRoom = (store: string, folder: string, needed: number, free: number): StoreError => ({
  _tag: 'StoreFull',
  message: `nothing was erased from ${store}: ${why}. This needs ${bytesText(needed)} of free room in ${folder}, which has ${bytesText(free)}: free some, then repeat the command`,
  store,
})

const isWritten = (store: string, cause: unknown): StoreError => ({
  _tag: 'StoreBusy',
  message: `nothing was erased from ${store}: ${why}, but others keep writing to it: stop the server and the workers, then repeat the command`,
  store,
  cause,
})
