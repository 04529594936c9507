import type { StoreError } from '../errors.ts'
import { damagedAdvice } from './errors.ts'
import { inThread } from './in-thread.ts'

/** Maximum number of problems to report. */
const mostProblems = 3

/**
 * Returns the first problems of the file as a whole: damaged pages, and indexes that do not match their tables, which hide rows from
 * reads. Returns an empty list if the file is intact. The check reads the whole file in a separate thread and on its own connection,
 * because SQLite does it in one step. Throws the driver's errors.
 */
export const integrityProblems = async (path: string): Promise<readonly string[]> =>
  (await countAndCheck(path)).problems

/** Number of rows in each table of a checked file; 0 if the table does not exist. */
type Rows = Readonly<Record<string, number>>

/**
 * Checks a file like `integrityProblems` and counts the rows of the given tables in the same thread, because counting reads the file as
 * well.
 */
export const countAndCheck = async (
  path: string,
  tables: readonly string[] = [],
): Promise<{ readonly problems: readonly string[]; readonly rows: Rows }> => {
  const { problems, rows } = await inThread(check, path, mostProblems, tables)
  return { rows, problems: problems.slice(0, mostProblems) }
}

/** Checks a file; called in a separate thread. */
const check = (
  path: string,
  most: number,
  tables: readonly string[],
): { readonly problems: readonly string[]; readonly rows: Rows } => {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const found = db.prepare(`PRAGMA integrity_check(${most})`).all()
    const count = (table: string): number =>
      db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table)
        ? Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])
        : 0
    const problems = found.flatMap((row) => String(Object.values(row)[0]).split('\n'))
    return problems.length === 1 && problems[0] === 'ok'
      ? { problems: [], rows: Object.fromEntries(tables.map((table) => [table, count(table)])) }
      : { problems, rows: {} }
  } finally {
    db.close()
  }
}

export const damagedError = (store: string, problems: readonly string[]): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store}: the file is damaged (${problems.join('; ')}): ${damagedAdvice}`,
  store,
})
