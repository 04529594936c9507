import { closeSync, openSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { formatVersion, schema } from './schema.ts'

/** An open file of the catalogue. */
export interface CatalogueFile {
  readonly db: DatabaseSync
  /** Its name; undefined in memory. */
  readonly name: string | undefined
}

/** Another process's transaction takes a few milliseconds. */
const timeout = 5_000

/**
 * Opens the newest file at a place, or makes one. A file is never replaced under its name, since SQLite in another process might have it
 * open: one that is damaged or of another format is left, and the next number taken.
 *
 * @param place the path without the number; undefined: in memory, as where nothing can be written
 * @param damaged the name of a file that is known to be damaged
 */
export const openFile = (place: string | undefined, damaged?: string): CatalogueFile => {
  if (place === undefined) return inMemory()
  try {
    const [newest = 0] = numbersAt(place)
    const first = Math.max(
      1,
      basename(damaged ?? '') === `${basename(place)}.${newest}` ? newest + 1 : newest,
    )
    const db = opened(place, first) ?? opened(place, newest + 1)
    if (!db) return inMemory()
    const name = String(db.location())
    removeOlder(place, name)
    return { db, name }
  } catch {
    return inMemory()
  }
}

const inMemory = (): CatalogueFile => {
  const db = new DatabaseSync(':memory:')
  db.exec(schema)
  return { db, name: undefined }
}

/** The numbers of the files there, the newest first. */
const numbersAt = (place: string): readonly number[] =>
  readdirSync(dirname(place))
    .flatMap((file) => {
      const number = file.startsWith(`${basename(place)}.`) ? file.slice(basename(place).length + 1) : ''
      return /^\d{1,9}$/.test(number) ? [Number(number)] : []
    })
    .toSorted((one, other) => other - one)

/** Undefined if the file is damaged, or of another format. */
const opened = (place: string, number: number): DatabaseSync | undefined => {
  const path = `${place}.${number}`
  createPrivate(path)
  const db = new DatabaseSync(path, { timeout })
  try {
    // Lost transactions are indexed again, but a power cut must not leave half of one.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    db.exec('BEGIN IMMEDIATE')
    const version = db.prepare('PRAGMA user_version').get()?.['user_version']
    const isEmpty = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'] === 0
    if (isEmpty) db.exec(schema)
    db.exec('COMMIT')
    if (isEmpty || version === formatVersion) return db
  } catch (error) {
    if (!isDamage(error)) {
      db.close()
      throw error
    }
  }
  db.close()
  return undefined
}

/** It has what was said in conversations: for its owner's eyes. SQLite gives its files beside this one the same permissions. */
const createPrivate = (path: string): void => {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // It is there already, or SQLite will say why it cannot be.
  }
}

const removeOlder = (place: string, name: string): void => {
  const own = Number(name.slice(name.lastIndexOf('.') + 1))
  for (const number of numbersAt(place))
    if (number < own)
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(join(dirname(place), `${basename(place)}.${number}${suffix}`), { force: true })
}

/** Whether SQLite says that its file is damaged, or no database. */
export const isDamage = (error: unknown): boolean => {
  const code = typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) : 0
  return [11, 26].includes(code & 0xff)
}
