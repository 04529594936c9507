import { once } from 'node:events'
import type { StoreError } from '../errors.ts'

/** The most problems that are reported. */
const mostProblems = 3

/**
 * The first problems of the file as a whole: damaged pages, and indexes that do not match their tables, which hide rows from reads.
 * Empty if there are none.
 *
 * Reads the whole file, in its own thread and on its own connection, because SQLite does it in one step. Throws the driver's errors.
 */
export const integrityProblems = async (path: string): Promise<readonly string[]> => {
  // Loaded here, as opening a store would wait for it.
  const { Worker } = await import('node:worker_threads')
  const program = `require('node:worker_threads').parentPort.postMessage((${check.toString()})(...require('node:worker_threads').workerData))`
  const worker = new Worker(program, { eval: true, workerData: [path, mostProblems] })
  const [answer] = (await once(worker, 'message')) as [ReturnType<typeof check>]
  if ('error' in answer)
    throw Object.assign(new Error(answer.error.message), { errcode: answer.error.errcode })
  const { problems } = answer
  return problems.length === 1 && problems[0] === 'ok' ? [] : problems.slice(0, mostProblems)
}

/** Sent to the thread as text, so without imports: a file of its own would need a place in sources, build and bundles. */
const check = (
  path: string,
  most: number,
):
  | { readonly problems: readonly string[] }
  | { readonly error: { readonly message: string; readonly errcode: unknown } } => {
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    const db = new DatabaseSync(path, { readOnly: true })
    try {
      const rows = db.prepare(`PRAGMA integrity_check(${most})`).all()
      return { problems: rows.flatMap((row) => String(Object.values(row)[0]).split('\n')) }
    } finally {
      db.close()
    }
  } catch (thrown) {
    const { message, errcode } = thrown as { readonly message: string; readonly errcode?: unknown }
    return { error: { message, errcode } }
  }
}

export const damaged = (store: string, problems: readonly string[]): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store}: the file is damaged (${problems.join('; ')}): restore it from a backup, or try the .recover command of sqlite3`,
  store,
})
