import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { toError } from '../result/typed.ts'
import { type StoreError, storeClosed } from '../store/errors.ts'
import { memoryStore } from '../store/memory/store.ts'
import type { EventStore } from '../store/port.ts'

/**
 * A store that does not exist yet: it reads as empty until another process has created it, and is created when something is written or
 * followed.
 *
 * @param open opens it if it exists by now, otherwise it is `StoreNotFound`
 * @param create opens it, and creates it if it does not exist
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
  /** Names that are to be held once there is a store to hold them in. */
  const names = new Set<() => void>()
  /** One at a time: whoever comes second finds what the first has opened. */
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
  const inStore =
    (there: TE.TaskEither<StoreError, EventStore>) =>
    <Err, A>(use: (store: EventStore) => TE.TaskEither<Err, A>): TE.TaskEither<StoreError | Err, A> =>
      pipe(there, TE.flatMap<EventStore, StoreError | Err, A>(use))
  const read = inStore(found)
  const written = inStore(created)
  async function* each<A>(
    there: TE.TaskEither<StoreError, EventStore>,
    all: (store: EventStore) => AsyncIterable<A>,
  ): AsyncGenerator<A> {
    const made = await there()
    if (E.isLeft(made)) throw toError(made.left)
    yield* all(made.right)
  }
  return {
    url,
    append: (request) => written(({ append }) => append(request)),
    read: (range) => read((it) => it.read(range)),
    find: (stream, id) => read((it) => it.find(stream, id)),
    count: (stream, type, through) => read((it) => it.count(stream, type, through)),
    keptEnd: (stream) => read((it) => it.keptEnd(stream)),
    streams: (prefix, after, limit) => read((it) => it.streams(prefix, after, limit)),
    newest: (prefixes, before, limit) => read((it) => it.newest(prefixes, before, limit)),
    changed: (prefix, since) => read((it) => it.changed(prefix, since)),
    readAll: (range) => read((it) => it.readAll(range)),
    follow: (options) => each(created, (it) => it.follow(options)),
    blobs: {
      put: (sha256, chunks) => written(({ blobs }) => blobs.put(sha256, chunks)),
      get: (sha256) => each(found, ({ blobs }) => blobs.get(sha256)),
      list: () => each(found, ({ blobs }) => blobs.list()),
      remove: (sha256, before) => read(({ blobs }) => blobs.remove(sha256, before)),
    },
    integrity: () => read((it) => it.integrity?.() ?? TE.right(undefined)),
    backup: (file, options) => written(({ backup }) => backup?.(file, options) ?? TE.left(storeClosed(url))),
    liveness: {
      hold: (name) => {
        if (store !== empty) return store.liveness?.hold(name)
        let release: (() => void) | undefined
        const hold = (): void => {
          release = store.liveness?.hold(name)
        }
        names.add(hold)
        return () => {
          names.delete(hold)
          release?.()
        }
      },
      inherit: (name) => store.liveness?.inherit(name),
      names: () => store.liveness?.names() ?? [],
    },
    maxAppendBytes: empty.maxAppendBytes,
    close: () => async () => {
      isClosed = true
      await opening
      return store.close()()
    },
  }
}
