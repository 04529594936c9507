import { join } from 'node:path'
import { loadSample } from '../../src/cli/sample.ts'
import { openStore, type Store } from '../../src/index.ts'
import { serve, type ServeOptions } from '../../src/server/serve.ts'
import { atEnd } from './at-end.ts'
import { builtPage } from './bundle.ts'

export interface Served {
  readonly store: Store
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
}

/** A server of a store and of the page, on a port of its own. */
export const served = async (given?: Store, options: Partial<ServeOptions> = {}): Promise<Served> => {
  const store = given ?? (await openStore('memory:'))
  const { url, close } = await serve({ store, port: 0, page: join(await builtPage(), 'ui'), ...options })
  atEnd(...(given ? [] : [store.close]), close)
  return { store, url }
}

/** With the sample that has receipts. */
export const servedSample = async (): Promise<Served> => {
  const scene = await served()
  await loadSample(scene.store)
  return scene
}
