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
export const serving = (store: string, page?: string): Promise<ServingProcess> =>
  started('./children/serving.ts', [store, ...(page === undefined ? [] : [page])])

/** Serves the store of this URL, and measures the memory that the process needs. */
export const servingMeasured = async (
  store: string,
): Promise<ServingProcess & { readonly memory: () => Promise<number> }> => {
  const server = await started('./children/serving.ts', [store], ['--expose-gc'])
  return { ...server, memory: async () => Number(await server.asked('memory')) }
}

/** Passes appends on to the store of this URL, and checks nothing. */
export const servingBare = (store: string): Promise<ServingProcess> => started('./children/bare.ts', [store])

const started = async (file: string, names: readonly string[], execArgv: readonly string[] = []) => {
  const child = fork(new URL(file, import.meta.url).pathname, names, { execArgv: [...execArgv] })
  const [url] = (await once(child, 'message')) as [string]
  return {
    url,
    api: `${url}/api/v1`,
    asked: async (question: string): Promise<unknown> => {
      child.send(question)
      const [answer] = (await once(child, 'message')) as [unknown]
      return answer
    },
    close: async () => {
      child.send('end')
      await once(child, 'exit')
    },
  }
}
