import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { toError } from '../result/typed.ts'
import { type StoreError, storeClosed } from '../store/errors.ts'
import { memoryStore } from '../store/memory/store.ts'
import type { EventStore } from '../store/port.ts'

/** A store that does not exist yet: it reads as empty, and is created when something is written or followed. */
export const lateStore = (create: TE.TaskEither<StoreError, EventStore>, url: string): EventStore => {
  const empty = memoryStore(url)
  let store = empty
  let creating: Promise<E.Either<StoreError, EventStore>> | undefined
  let isClosed = false
  const created: TE.TaskEither<StoreError, EventStore> = async () => {
    if (isClosed || store !== empty) return E.right(store)
    const made = await (creating ??= create())
    creating = undefined
    if (E.isRight(made)) store = made.right
    return made
  }
  const written = <Err, A>(
    write: (store: EventStore) => TE.TaskEither<Err, A>,
  ): TE.TaskEither<StoreError | Err, A> => pipe(created, TE.flatMap<EventStore, StoreError | Err, A>(write))
  return {
    url,
    append: (request) => written(({ append }) => append(request)),
    read: (range) => () => store.read(range)(),
    find: (stream, id) => () => store.find(stream, id)(),
    count: (stream, type, through) => () => store.count(stream, type, through)(),
    keptEnd: (stream) => () => store.keptEnd(stream)(),
    streams: (prefix, after, limit) => () => store.streams(prefix, after, limit)(),
    newest: (prefixes, before, limit) => () => store.newest(prefixes, before, limit)(),
    changed: (prefix, since) => () => store.changed(prefix, since)(),
    readAll: (range) => () => store.readAll(range)(),
    follow: async function* (options) {
      const followed = await created()
      if (E.isLeft(followed)) throw toError(followed.left)
      yield* followed.right.follow(options)
    },
    blobs: {
      put: (sha256, chunks) => written(({ blobs }) => blobs.put(sha256, chunks)),
      get: (sha256) => store.blobs.get(sha256),
      list: () => store.blobs.list(),
      remove: (sha256, before) => () => store.blobs.remove(sha256, before)(),
    },
    integrity: () => () => store.integrity?.()() ?? Promise.resolve(E.right(undefined)),
    backup: (file, options) => written(({ backup }) => backup?.(file, options) ?? TE.left(storeClosed(url))),
    maxAppendBytes: empty.maxAppendBytes,
    close: () => async () => {
      isClosed = true
      await creating
      return store.close()()
    },
  }
}
