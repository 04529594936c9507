import { DatabaseSync } from 'node:sqlite'
import type { StoreError } from '../errors.ts'

/** The most problems that are told. */
const most = 3

/**
 * What is wrong with the file as a whole: damaged pages, and indexes that do not match their tables, which would hide rows from every
 * read that goes through them. Empty if nothing is; else the first problems.
 *
 * Reads the whole file, on a connection of its own. Throws the driver's errors.
 */
export const integrityProblems = async (path: string): Promise<readonly string[]> => {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${most})`).all()
    const problems = rows.flatMap((row) => String(Object.values(row)[0]).split('\n'))
    return problems.length === 1 && problems[0] === 'ok' ? [] : problems.slice(0, most)
  } finally {
    db.close()
  }
}

export const damaged = (store: string, problems: readonly string[]): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store}: the file is damaged (${problems.join('; ')}): restore it from a backup, or try the .recover command of sqlite3`,
  store,
})
