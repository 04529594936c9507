import { randomUUID } from 'node:crypto'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { StoreError } from '../errors.ts'
import { databaseFileAt } from '../sqlite-files.ts'
import { copyInto, flushToDisk, unfinished } from './backup.ts'
import { codeOf, damagedAdvice, storeError } from './errors.ts'
import { lookAt } from './open.ts'
import type { SqliteSettings } from './settings.ts'

/** A backup that was put in the place of a database. */
export interface ReplacedFile {
  readonly file: string
  readonly bytes: number
  /** Folder that has the files that were replaced; missing if there were none. */
  readonly former?: string
}

/**
 * Replaces a database with a backup. The copy of the backup is checked before anything is moved; then the database's files are moved
 * into a new folder next to them, because the restored file would be damaged by the -wal of the former one. If root restores it, the
 * database keeps its owner. The error is `StoreBusy` if a process has the database open.
 *
 * @param check checks the copy at a path, and returns what to add to the result
 */
export const replaceFile = async <A>(
  { url, path: named }: Pick<SqliteSettings, 'url' | 'path'>,
  file: string,
  check: (copy: string) => Promise<E.Either<StoreError | InvalidInput, A>>,
): Promise<E.Either<StoreError | InvalidInput, ReplacedFile & A>> => {
  const there = lookAt({ url, path: named })
  if (E.isLeft(there)) return there
  const backup = resolve(file)
  const found = lookAt({ url: `sqlite:${file}`, path: backup })
  if (E.isLeft(found)) return found
  if (file.startsWith('sqlite:') && !found.right)
    return E.left(invalidInput('file', `must be the path of a backup: ${file.slice('sqlite:'.length)}`))
  if (!found.right) return E.left(invalidInput('file', `there is no backup ${file}`))
  if (found.right.size === 0) return E.left(invalidInput('file', `${file} is empty, and no backup`))
  const path = there.right ? realpathSync(named) : named
  if (there.right && databaseFileAt(path, backup) !== undefined)
    return E.left(invalidInput('file', `${file} belongs to the store itself: name a backup of it`))
  const copy = `${path}.${randomUUID()}${unfinished}`
  try {
    closeSync(openSync(copy, 'wx', 0o600))
    await copyInto(readableAs(backup), copy)
    const checked = await check(copy)
    if (E.isLeft(checked)) return E.left(ofBackup(checked.left))
    flushToDisk(copy, 'r+')
    if (there.right && isOpen(path)) return E.left(inUse(url))
    const { size: bytes } = statSync(copy)
    // Other processes that use the store may run as its owner.
    const owner = process.getuid?.() === 0 ? (there.right ?? statSync(dirname(path))) : undefined
    if (owner) chownSync(copy, owner.uid, owner.gid)
    const former = moveAside(path)
    if (owner && former !== undefined) chownSync(former, owner.uid, owner.gid)
    renameSync(copy, path)
    if (process.platform !== 'win32') flushToDisk(dirname(path), 'r')
    return E.right({ file, bytes, ...checked.right, ...(former !== undefined && { former }) })
  } catch (error) {
    // Until the copy is complete, the failure is one of the backup, unless the disk of the store is full.
    const failure = storeError(url, error)
    const isOfBackup = existsSync(copy) && failure._tag !== 'StoreFull'
    return E.left(isOfBackup ? ofBackup(storeError(`sqlite:${file}`, error)) : failure)
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(copy + suffix, { force: true })
  }
}

/** Replaces the advice to restore a backup in an error about the backup. */
const ofBackup = <B extends StoreError | InvalidInput>(error: B): B => ({
  ...error,
  message: error.message.replace(damagedAdvice, 'restore another backup'),
})

/**
 * Returns the path or URL with which SQLite reads a backup. If no process has it open (it has no -wal and -shm), SQLite need not create
 * files beside it, so that it may be on a read-only disk.
 */
const readableAs = (path: string): string | URL => {
  if (['-wal', '-shm', '-journal'].some((suffix) => existsSync(path + suffix))) return path
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

/** Reports whether another connection has the store open. A damaged file has no readable lock, and counts as not open. */
const isOpen = (path: string): boolean => {
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    // In WAL mode, every connection keeps a shared lock on the file, so that only the sole connection can lock it exclusively.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK')
    return false
  } catch (error) {
    return codeOf(error) === 5
  } finally {
    db.close()
  }
}

const inUse = (store: string): StoreError => ({
  _tag: 'StoreBusy',
  message: `${store}: a process has it open: stop the server and all workers, then restore the backup again. Nothing was changed`,
  store,
})

/** Moves the files of a store into a new folder next to them. Returns the folder; undefined if there are none. */
const moveAside = (path: string): string | undefined => {
  const [folder, base] = [dirname(path), basename(path)]
  const names = readdirSync(folder).filter(
    (name) =>
      name.startsWith(base) && /^(-wal|-shm|-journal|-index.*|-alive-.*)?$/.test(name.slice(base.length)),
  )
  if (names.length === 0) return undefined
  const former = `${path}.replaced-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`
  mkdirSync(former, { mode: 0o700 })
  // The database comes first: SQLite removes a -wal whose database is gone.
  for (const name of names.toSorted()) renameSync(join(folder, name), join(former, name))
  return former
}
