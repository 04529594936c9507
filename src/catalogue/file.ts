import { accessSync, closeSync, constants, existsSync, openSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pricesAsOf } from '../agent/models/prices.ts'
import { isWhole, type PageSums, pageSums } from './page-sums.ts'
import { formatVersion, schema } from './schema.ts'

/** An open database of the catalogue, in a file or in memory. */
export interface CatalogueFile {
  readonly db: DatabaseSync
  /** Path of the file; undefined for a database in memory. */
  readonly name: string | undefined
  /** Checksums of the file's pages; absent for a database in memory. */
  readonly sums?: PageSums
  /** Reason why the database is in memory although a file was requested. */
  readonly problem?: string
  readonly close: () => void
}

/** Maximum time to wait for a lock, in milliseconds; a transaction of another process takes a few milliseconds. */
const timeout = 5_000

/**
 * Opens the newest catalogue file at a path, or creates one. A file is never overwritten under the same name, because another process
 * might have it open in SQLite. If a file is damaged or has another format, it is abandoned and the next number is used.
 *
 * @param place path without the number; undefined for a database in memory, which is also used if no file can be written
 * @param damaged name of a file known to be damaged
 */
export const openFile = (place: string | undefined, damaged?: string): CatalogueFile => {
  if (place === undefined) return inMemory()
  try {
    const [newest = 0] = numbersAt(place)
    const first = Math.max(
      1,
      basename(damaged ?? '') === `${basename(place)}.${newest}` ? newest + 1 : newest,
    )
    const file = opened(place, first) ?? opened(place, newest + 1)
    if (!file) return inMemory(`the files at ${place} are damaged`)
    removeOlder(place, String(file.name))
    return file
  } catch (error) {
    return inMemory(reasonAt(place, error))
  }
}

/** Returns the reason why no file can be written at a path: files of another user, such as root, otherwise the error. */
export const reasonAt = (place: string | undefined, error: unknown): unknown => {
  const files = place === undefined ? [] : unwritableAt(place)
  return files.length === 0 ? error : unwritableText(files)
}

/** Says which files of the index cannot be written, and what to do. */
export const unwritableText = (files: readonly string[]): string =>
  `this user cannot write ${files.join(', ')}: give the owner of the store these files (chown), or delete them`

/** Returns the newest catalogue file at a path, and the files beside it, as far as this user cannot write them. */
export const unwritableAt = (place: string): readonly string[] => {
  try {
    const [newest] = numbersAt(place)
    if (newest === undefined) return []
    return ['', '-wal', '-shm', '-sums'].flatMap((suffix) => {
      const file = `${place}.${newest}${suffix}`
      return existsSync(file) && !isWritable(file) ? [file] : []
    })
  } catch {
    return []
  }
}

const isWritable = (file: string): boolean => {
  try {
    accessSync(file, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Opens a file a second time, to read it while others write to it. Returns undefined for a database in memory, if the file cannot be
 * opened, or if another file has replaced it.
 */
export const openAgain = ({ db, name }: CatalogueFile): DatabaseSync | undefined => {
  if (name === undefined) return undefined
  let again: DatabaseSync | undefined
  try {
    again = new DatabaseSync(name, { readOnly: true, timeout })
    if (buildOf(again) === buildOf(db)) return again
  } catch {
    // The caller then uses the connection that is already open.
  }
  again?.close()
  return undefined
}

/** Returns the build id, which distinguishes the file from other indexes of the same store. */
export const buildOf = (db: DatabaseSync): string => metaOf(db, 'build')

/** Returns the time at which the file was created, in ISO 8601. */
export const creationTime = (db: DatabaseSync): string => metaOf(db, 'created')

const metaOf = (db: DatabaseSync, key: 'build' | 'created' | 'prices'): string =>
  String(db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value'])

/** Replaces the newest catalogue file at a path, if there is one, with a new one, because the old one has text that was erased. */
export const renewFile = (place: string): void => {
  const there = lookAtFile(place)
  if (!there) return
  const file = openFile(place, there.name)
  file.sums?.settle(true)
  file.close()
}

/**
 * Opens a catalogue in memory.
 *
 * @param why reason for not using the requested file, as a thrown value or a text; undefined if no file was requested
 */
export const inMemory = (why?: unknown): CatalogueFile => {
  const db = new DatabaseSync(':memory:')
  db.exec(schema)
  const reason = why instanceof Error ? why.message : String(why)
  const problem = `the index cannot be kept in a file (${reason}): it is kept in memory, and every process rebuilds it`
  return { db, name: undefined, close: () => db.close(), ...(why !== undefined && { problem }) }
}

/**
 * Returns the name of the newest catalogue file at a path and whether the file is intact; undefined if no file exists or the folder
 * cannot be read. Changes nothing.
 */
export const lookAtFile = (
  place: string,
): { readonly name: string; readonly isWhole: boolean } | undefined => {
  try {
    const [newest] = numbersAt(place)
    return newest === undefined
      ? undefined
      : { name: `${place}.${newest}`, isWhole: isWhole(`${place}.${newest}`) }
  } catch {
    return undefined
  }
}

/** Returns the numbers of the catalogue files at a path, newest first. */
const numbersAt = (place: string): readonly number[] =>
  readdirSync(dirname(place))
    .flatMap((file) => {
      const number = file.startsWith(`${basename(place)}.`) ? file.slice(basename(place).length + 1) : ''
      return /^\d{1,9}$/.test(number) ? [Number(number)] : []
    })
    .toSorted((one, other) => other - one)

/** Opens the file with this number; returns undefined if it is damaged, of another format, or has costs at other prices. */
const opened = (place: string, number: number): CatalogueFile | undefined => {
  const path = `${place}.${number}`
  createPrivate(path)
  const db = new DatabaseSync(path, { timeout })
  try {
    // Lost transactions are indexed again, but a power failure must not leave a partial transaction.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0')
    // Once its pages are in the file, the WAL shrinks; its size would otherwise have every transaction move it again (page-sums.ts).
    db.exec('PRAGMA journal_size_limit = 0')
    db.exec('BEGIN IMMEDIATE')
    const version = db.prepare('PRAGMA user_version').get()?.['user_version']
    const isEmpty = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'] === 0
    if (isEmpty) db.exec(schema)
    db.exec('COMMIT')
    if (isEmpty || (version === formatVersion && metaOf(db, 'prices') === pricesAsOf)) return fileOf(db, path)
  } catch (error) {
    if (!isDamage(error)) {
      db.close()
      throw error
    }
  }
  db.close()
  return undefined
}

const fileOf = (db: DatabaseSync, path: string): CatalogueFile => {
  const sums = pageSums(path, db)
  const close = (): void => {
    db.close()
    sums.close()
  }
  return { db, name: String(db.location()), sums, close }
}

/**
 * Creates a file that only its owner can read, because it contains text from conversations. SQLite gives its accompanying files the
 * same permissions.
 */
const createPrivate = (path: string): void => {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // The file already exists, or SQLite will report why it cannot be created.
  }
}

const removeOlder = (place: string, name: string): void => {
  const own = Number(name.slice(name.lastIndexOf('.') + 1))
  for (const number of numbersAt(place))
    if (number < own)
      for (const suffix of ['', '-wal', '-shm', '-sums'])
        rmSync(join(dirname(place), `${basename(place)}.${number}${suffix}`), { force: true })
}

const codeOf = (error: unknown): number =>
  typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) : 0

/** Reports whether a SQLite error means that the file is damaged, is not a database, or (1032) was moved or deleted. */
export const isDamage = (error: unknown): boolean =>
  [11, 26].includes(codeOf(error) & 0xff) || codeOf(error) === 1032

/**
 * Reports whether a SQLite error means that the file cannot be written: it is read-only, the disk failed or is full, or the file cannot
 * be opened.
 */
export const isUnwritable = (error: unknown): boolean => [8, 10, 13, 14].includes(codeOf(error) & 0xff)
