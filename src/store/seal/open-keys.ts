import { statSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { run } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import type { EventStore } from '../port.ts'
import { withAccessErrors } from './key-access.ts'
import { keyFile } from './key-file.ts'
import { keyFolder } from './key-folder.ts'
import type { KeyStore } from './key-store.ts'
import { sealStore } from './sealed-store.ts'

/** Seals a store with keys in a file, in a folder if the path ends with a slash or names a folder, or in a store of one's own. */
export const sealWith =
  (keys: string | KeyStore) =>
  (store: EventStore): TaskEither<StoreError, EventStore> =>
  async () => {
    const opened = await run(sealStore(store, typeof keys === 'string' ? keysAt(keys) : keys))
    if (E.isLeft(opened)) await store.close()()
    return opened
  }

const keysAt = (path: string): KeyStore =>
  withAccessErrors(path.endsWith('/') || isFolder(path) ? keyFolder(path) : keyFile(path), path)

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    // Reading the keys fails, too, and says why.
    return false
  }
}
