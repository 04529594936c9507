import { once } from 'node:events'
import type { StoreError } from '../errors.ts'

/** Maximum number of problems to report. */
const mostProblems = 3

/**
 * Returns the first problems of the file as a whole: damaged pages, and indexes that do not match their tables, which hide rows from
 * reads. Empty if there are no problems. Reads the whole file, in its own thread and on its own connection, because SQLite does it in
 * one step. Throws the driver's errors.
 */
export const integrityProblems = async (path: string): Promise<readonly string[]> =>
  (await countAndCheck(path)).problems

/** Number of rows in each table of a checked file; 0 if the table does not exist. */
type Rows = Readonly<Record<string, number>>

/** Like `integrityProblems`, and also counts the rows of these tables: counting reads the file as well. */
export const countAndCheck = async (
  path: string,
  tables: readonly string[] = [],
): Promise<{ readonly problems: readonly string[]; readonly rows: Rows }> => {
  // Loaded here, as opening a store would wait for it.
  const { Worker } = await import('node:worker_threads')
  const program = `require('node:worker_threads').parentPort.postMessage((${check.toString()})(...require('node:worker_threads').workerData))`
  const worker = new Worker(program, { eval: true, workerData: [path, mostProblems, tables] })
  const [answer] = (await once(worker, 'message')) as [ReturnType<typeof check>]
  if ('error' in answer)
    throw Object.assign(new Error(answer.error.message), { errcode: answer.error.errcode })
  return { ...answer, problems: answer.problems.slice(0, mostProblems) }
}

/**
 * Checks a file. Its source is sent to the thread as text, so it has no imports: a separate file would need a place in sources, build
 * and bundles.
 */
const check = (
  path: string,
  most: number,
  tables: readonly string[],
):
  | { readonly problems: readonly string[]; readonly rows: Rows }
  | { readonly error: { readonly message: string; readonly errcode: unknown } } => {
  try {
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
  } catch (thrown) {
    const { message, errcode } = thrown as { readonly message: string; readonly errcode?: unknown }
    return { error: { message, errcode } }
  }
}

export const damagedError = (store: string, problems: readonly string[]): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store}: the file is damaged (${problems.join('; ')}): restore it from a backup, or try the .recover command of sqlite3`,
  store,
})
