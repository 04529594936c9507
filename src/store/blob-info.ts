import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { catchTyped, task } from '../result/fallible.ts'
import type { StoreError } from './errors.ts'
import type { BlobInfo, BlobStore } from './port.ts'

/** Returns the size and time of a blob; undefined if it does not exist. Lists all blobs in a store that cannot look for one. */
export const blobInfo = (blobs: BlobStore, sha256: string): TaskEither<StoreError, BlobInfo | undefined> =>
  blobs.info?.(sha256) ??
  task(() =>
    catchTyped<StoreError, BlobInfo | undefined>(async () => {
      for await (const info of blobs.list()) if (info.sha256 === sha256) return info
      return undefined
    }),
  )
