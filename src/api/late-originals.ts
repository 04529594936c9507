import { type Fallible, task } from '../result/fallible.ts'
import { asNow } from '../store/options.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import type { createOriginalWriter, OriginalError, OriginalVersion } from '../transfer/write-original.ts'
import type { TaskStore } from './store.ts'

/** Returns the methods for files kept beside conversations. Their code is loaded on first use, because most programs never need it. */
export const lateOriginals = (store: LayeredStore): Pick<TaskStore, 'originals' | 'writeOriginal'> => {
  let write: ReturnType<typeof createOriginalWriter> | undefined
  const load = () => import('../transfer/write-original.ts')
  return {
    originals: async function* (options) {
      const { listOriginals } = await load()
      yield* listOriginals(store, options)
    },
    writeOriginal: (id, change) => {
      const now = asNow(change)
      return task(async function* (): Fallible<OriginalError, OriginalVersion> {
        const { createOriginalWriter: create } = await load()
        write ??= create(store)
        return yield* write(id, now)
      })
    },
  }
}
