import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { toError } from '../../result/typed-error.ts'
import { type StoreClosed, storeClosed } from '../errors.ts'
import type { BlobStore } from '../port.ts'

interface Blob {
  readonly chunks: readonly Uint8Array[]
  readonly time: Date
}

/** Creates a blob store in memory. */
export const memoryBlobs = (url: string, isClosed: () => boolean): BlobStore => {
  const blobs = new Map<string, Blob>()

  const whenOpen =
    (run: () => void): TaskEither<StoreClosed, void> =>
    async () =>
      isClosed() ? E.left(storeClosed(url)) : E.right(run())

  const mustBeOpen = (): void => {
    if (isClosed()) throw toError(storeClosed(url))
  }

  return {
    put: (sha256, chunks) =>
      whenOpen(() => {
        const there = blobs.get(sha256)
        blobs.set(sha256, { chunks: there?.chunks ?? [...chunks], time: new Date() })
      }),
    get: async function* (sha256) {
      mustBeOpen()
      yield* blobs.get(sha256)?.chunks ?? []
    },
    list: async function* () {
      mustBeOpen()
      for (const [sha256, { chunks, time }] of blobs)
        yield { sha256, bytes: chunks.reduce((sum, { length }) => sum + length, 0), time }
    },
    remove: (sha256, before) =>
      whenOpen(() => {
        const there = blobs.get(sha256)
        if (there && there.time < before) blobs.delete(sha256)
      }),
  }
}
