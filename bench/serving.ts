import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A server in a process of its own. */
export interface ServingProcess {
  /** Where it is: `http://127.0.0.1:PORT`. */
  readonly url: string
  /** Where its API is. */
  readonly api: string
  readonly close: () => Promise<void>
}

/** Serves the store of this URL, and the page that was built into a folder. */
export const serving = async (store: string, page?: string): Promise<ServingProcess> => {
  const program = new URL('./children/serving.ts', import.meta.url).pathname
  const child = fork(program, [store, ...(page === undefined ? [] : [page])], { execArgv: [] })
  const [url] = (await once(child, 'message')) as [string]
  return {
    url,
    api: `${url}/api/v1`,
    close: async () => {
      child.send('end')
      await once(child, 'exit')
    },
  }
}
