import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { lazily } from '../result/lazily.ts'
import { blobInfo } from '../store/blob-info.ts'
import { backupOf } from '../store/backup.ts'
import type { StoreError } from '../store/errors.ts'
import { memoryStore } from '../store/memory/store.ts'
import type { BlobStore, EventStore, NameRelease } from '../store/port.ts'

/**
 * Returns a store that need not exist yet. It reads as empty until another process has created it; its own first write or follow
 * creates it.
 *
 * @param open opens the store if it exists by now; otherwise `StoreNotFound`
 * @param create opens the store, creating it if it does not exist
 */
export const lateStore = (
  open: TE.TaskEither<StoreError, EventStore>,
  create: TE.TaskEither<StoreError, EventStore>,
  url: string,
): EventStore => {
  const empty = memoryStore(url)
  let store = empty
  let opening: Promise<unknown> = Promise.resolve()
  let isClosed = false
  /** Functions to call as soon as the store exists; each holds one of the requested liveness names. */
  const names = new Set<() => void>()
  /**
   * Runs an attempt to open the store unless it is already open. Attempts are serialized: a second caller gets the store that the first
   * one opened.
   */
  const opened =
    (attempt: TE.TaskEither<StoreError, EventStore>): TE.TaskEither<StoreError, EventStore> =>
    async () => {
      if (isClosed || store !== empty) return E.right(store)
      const made = opening.then(async () => {
        if (isClosed || store !== empty) return E.right(store)
        const tried = await attempt()
        if (E.isRight(tried)) store = tried.right
        for (const hold of store === empty ? [] : names) hold()
        return tried
      })
      opening = made
      return made
    }
  const created = opened(create)
  const found = opened(
    pipe(
      open,
      TE.orElse((error) => (error._tag === 'StoreNotFound' ? TE.right(empty) : TE.left(error))),
    ),
  )
  const blobsIn: (there: typeof found) => TE.TaskEither<StoreError, BlobStore> = TE.map(({ blobs }) => blobs)
  return {
    url,
    ...lazily(created, ['append'], ['follow']),
    ...lazily(found, ['read', 'find', 'count', 'keptEnd', 'streams', 'newest', 'changed', 'readAll']),
    blobs: {
      ...lazily(blobsIn(created), ['put']),
      ...lazily(blobsIn(found), ['remove'], ['get', 'list']),
      info: (sha256) => TE.flatMap((blobs: BlobStore) => blobInfo(blobs, sha256))(blobsIn(found)),
    },
    integrity: () => TE.flatMap(({ integrity }: EventStore) => integrity?.() ?? TE.right(undefined))(found),
    backup: (file, options) =>
      pipe(
        created,
        TE.flatMap((made) => backupOf(made, file, options)),
      ),
    scrub: () => TE.flatMap(({ scrub }: EventStore) => scrub?.() ?? TE.right(undefined))(found),
    rewrite: (options) =>
      TE.flatMap(({ rewrite }: EventStore) => rewrite?.(options) ?? TE.right(undefined))(found),
    liveness: {
      hold: async (name, lost) => {
        if (store !== empty) return store.liveness?.hold(name, lost)
        let release: Promise<NameRelease | undefined> | undefined
        const hold = (): void => {
          release = store.liveness?.hold(name, lost)
        }
        names.add(hold)
        return async () => {
          names.delete(hold)
          await (
            await release
          )?.()
        }
      },
      inherit: async (name) => store.liveness?.inherit(name),
      names: async () => (await store.liveness?.names()) ?? [],
    },
    maxAppendBytes: empty.maxAppendBytes,
    close: () => async () => {
      isClosed = true
      await opening
      return store.close()()
    },
  }
}
