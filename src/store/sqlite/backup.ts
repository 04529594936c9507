import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { type FileExists, fileExists, type StoreError } from '../errors.ts'
import type { BackedUp, BackupOptions } from '../port.ts'
import { databaseFileAt } from '../sqlite-files.ts'
import { storeError } from './errors.ts'
import { damagedError, countAndCheck } from './integrity.ts'
import { applicationId, unusable, versionOf } from './schema.ts'

type Failure = StoreError | InvalidInput | FileExists

/**
 * Writes everything committed so far to another file. The data is first written to a temporary file next to it, which is then checked,
 * flushed to disk and renamed, so that a backup is never partial. Others may write in the meantime; events that they commit after the
 * start are not included. Errors name the backup file; if the store is damaged, they name the store.
 */
export const backupSqlite = async (
  { path, url }: { readonly path: string; readonly url: string },
  file: string,
  { force = false }: BackupOptions,
): Promise<E.Either<Failure, BackedUp>> => {
  const target = resolve(file)
  const store = `sqlite:${file}`
  const temporary = `${target}.${randomUUID()}${unfinished}`
  try {
    const obstacle = obstacleTo(path, target, force)
    if (obstacle) return E.left(obstacle)
    removeAbandoned(dirname(target))
    closeSync(openSync(temporary, 'wx', 0o600))
    await copyInto(path, temporary)
    const counted = await checkCopy(url, temporary)
    if (E.isLeft(counted)) return counted
    flushToDisk(temporary, 'r+')
    // A file that another process creates under this name in the meantime is not overwritten.
    if (!force) closeSync(openSync(target, 'wx', 0o600))
    renameSync(temporary, target)
    if (process.platform !== 'win32') flushToDisk(dirname(target), 'r')
    return E.right({ file, bytes: statSync(target).size, ...counted.right })
  } catch (error) {
    if (isExisting(error)) return E.left(fileExists(file))
    const failure = storeError(store, error)
    return E.left(failure._tag === 'StoreCorrupt' ? storeError(url, error) : failure)
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm'])
      if (existsSync(temporary + suffix)) rmSync(temporary + suffix, { force: true })
  }
}

/** Suffix of the name of an unfinished backup. */
export const unfinished = '.palimpsest-backup.tmp'
const day = 24 * 60 * 60 * 1000

/** Removes the temporary files that killed backups left in a folder. A running backup never leaves its file untouched for a day. */
const removeAbandoned = (folder: string): void => {
  for (const name of readdirSync(folder)) {
    if (!/\.palimpsest-backup\.tmp(-journal|-wal|-shm)?$/.test(name)) continue
    const file = join(folder, name)
    const there = statSync(file, { throwIfNoEntry: false })
    if (there?.isFile() && Date.now() - there.mtimeMs > day) rmSync(file, { force: true })
  }
}

const obstacleTo = (path: string, target: string, force: boolean): Failure | undefined => {
  const there = statSync(target, { throwIfNoEntry: false })
  const own = databaseFileAt(path, target)
  if (own !== undefined) {
    const what = own === realpathSync(path) ? 'is the store itself' : 'belongs to the store'
    return {
      ...invalidInput('file', ''),
      message: `${target} ${what}, so no backup is written there: name another file`,
    }
  }
  if (there?.isDirectory()) return fileExists(target, 'is a folder: name another file')
  if (there && !there.isFile()) return fileExists(target, 'is not a regular file: name another file')
  if (there && !force) return fileExists(target)
  // Keys and tokens, too, are files beside a store. A link is replaced itself.
  if (
    there &&
    there.size > 0 &&
    !lstatSync(target).isSymbolicLink() &&
    applicationIdOf(target) !== applicationId
  )
    return fileExists(target, 'is not a store or a backup of one: name another file')
  // SQLite would treat its content as part of the backup.
  const left = [`${target}-wal`, `${target}-journal`].find(
    (name) => statSync(name, { throwIfNoEntry: false })?.size,
  )
  return left === undefined
    ? undefined
    : fileExists(
        left,
        'belongs to an earlier database: name another file, or remove it once no process has that database open',
      )
}

/** Offset of the application id in the header of an SQLite file. */
const idOffset = 68

/** Returns the application id of an SQLite file, 0 if it has none. */
export const applicationIdOf = (path: string): number => {
  const header = Buffer.alloc(idOffset + 4)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, header.length, 0)
  } finally {
    closeSync(file)
  }
  return header.readUInt32BE(idOffset)
}

const allPages = 2 ** 31 - 1

/** Copies one state of the file in a single step, so that a writer neither waits for the copy nor makes it start over. */
export const copyInto = async (path: string | URL, target: string): Promise<void> => {
  const source = new DatabaseSync(path, { readOnly: true })
  try {
    await backup(source, target, { rate: allPages })
  } finally {
    source.close()
  }
}

/** Checks the copy of a store and returns the numbers of streams, events and blobs in it. Errors name the store. */
export const checkCopy = async (
  store: string,
  path: string,
): Promise<E.Either<StoreError, Omit<BackedUp, 'file' | 'bytes'>>> => {
  const { problems, rows } = await countAndCheck(path, ['streams', 'events', 'blobs'])
  if (problems.length > 0) return E.left(damagedError(store, problems))
  const db = new DatabaseSync(path)
  try {
    const refused = unusable(store, versionOf(db))
    if (refused) return E.left(refused)
    const { streams = 0, events = 0, blobs = 0 } = rows
    return E.right({ streams, events, blobs })
  } finally {
    db.close()
  }
}

/** Flushes a file or folder to disk and waits until this is done. */
export const flushToDisk = (path: string, flags: string): void => {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const isExisting = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST'
