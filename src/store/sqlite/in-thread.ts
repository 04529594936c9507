import { once } from 'node:events'

/** An error as it crosses from the thread. */
type Answer<R> = { readonly value: R } | { readonly message: string; readonly errcode: unknown }

/**
 * Calls a function in a separate thread, because SQLite does some work in one step, which may take minutes. The source of the function
 * is sent to the thread as text, so it uses no imports: a separate file would have to be included in the sources, the build and the
 * bundles. Throws the driver's errors.
 */
export const inThread = async <A extends readonly unknown[], R>(
  work: (...args: A) => R,
  ...args: A
): Promise<R> => {
  // Imported here, because otherwise opening a store would wait for the import.
  const { Worker } = await import('node:worker_threads')
  const program = `const { parentPort, workerData } = require('node:worker_threads')
    try { parentPort.postMessage({ value: (${work.toString()})(...workerData) }) }
    catch ({ message, errcode }) { parentPort.postMessage({ message, errcode }) }`
  const [answer] = (await once(new Worker(program, { eval: true, workerData: args }), 'message')) as [
    Answer<R>,
  ]
  if ('value' in answer) return answer.value
  throw Object.assign(new Error(answer.message), { errcode: answer.errcode })
}
