import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { toError } from '../../result/typed-error.ts'
import { type StoreClosed, storeClosed } from '../errors.ts'
import type { BlobInfo, BlobStore } from '../port.ts'

interface Blob {
  readonly chunks: readonly Uint8Array[]
  readonly time: Date
}

/** Creates a blob store in memory. */
export const memoryBlobs = (url: string, isClosed: () => boolean): BlobStore => {
  const blobs = new Map<string, Blob>()

  const whenOpen =
    <A>(run: () => A): TaskEither<StoreClosed, A> =>
    async () =>
      isClosed() ? E.left(storeClosed(url)) : E.right(run())

  const mustBeOpen = (): void => {
    if (isClosed()) throw toError(storeClosed(url))
  }

  const infoOf = (sha256: string, { chunks, time }: Blob): BlobInfo => ({
    sha256,
    bytes: chunks.reduce((sum, { length }) => sum + length, 0),
    time,
  })

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
      for (const [sha256, blob] of blobs) yield infoOf(sha256, blob)
    },
    info: (sha256) =>
      whenOpen(() => {
        const there = blobs.get(sha256)
        return there && infoOf(sha256, there)
      }),
    remove: (sha256, before) =>
      whenOpen(() => {
        const there = blobs.get(sha256)
        if (there && there.time < before) blobs.delete(sha256)
      }),
  }
}
