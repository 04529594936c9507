import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A server in a process of its own. */
export interface ServingProcess {
  /** Where its API is. */
  readonly api: string
  readonly close: () => Promise<void>
}

/** Serves the store of this URL. */
export const serving = async (store: string): Promise<ServingProcess> => {
  const child = fork(new URL('./children/serving.ts', import.meta.url).pathname, [store], { execArgv: [] })
  const [url] = (await once(child, 'message')) as [string]
  return {
    api: `${url}/api/v1`,
    close: async () => {
      child.send('end')
      await once(child, 'exit')
    },
  }
}
