import { run } from '../result/fallible.ts'
import { asNow } from '../store/options.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import type { KeptFiles } from '../transfer/kept-files.ts'
import type { TaskStore } from './store.ts'

/** Returns the methods that import sessions. Their code is loaded on first use, because it is a large part of the library. */
export const lateImporter = (
  store: LayeredStore,
): Pick<TaskStore, 'importSession' | 'followSession'> & { readonly close: () => void } => {
  let files: KeptFiles | undefined
  return {
    importSession: (session, options) => async () => {
      const now = [asNow(session), asNow(options)] as const
      const { importSession } = await import('../transfer/import.ts')
      const { createKeptFiles } = await import('../transfer/kept-files.ts')
      files ??= createKeptFiles()
      return run(importSession(store, ...now, files))
    },
    followSession: async function* (session, options) {
      const { followSession } = await import('../transfer/follow-session.ts')
      yield* followSession(store, session, options)
    },
    close: () => files?.close(),
  }
}
