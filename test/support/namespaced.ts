import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { AppendRequest, StreamChanges, EventStore, RecordedEvent } from '../../src/store/port.ts'

/** A part of a store that looks like an empty store: the streams whose names begin with the namespace, and blobs under other hashes. */
export const namespaced = (store: EventStore, namespace: string): EventStore => {
  const { neverBegun } = store
  const outside = (stream: string): string => namespace + stream
  const inside = (stream: string): string => stream.slice(namespace.length)
  const own = (event: RecordedEvent): RecordedEvent => ({ ...event, stream: inside(event.stream) })
  /** Begins the task at once: what it was given is the caller's again from then on. */
  const mapLeft =
    <A, Err extends object>(task: TE.TaskEither<Err, A>): TE.TaskEither<Err, A> =>
    async () =>
      E.mapLeft((error: Err) =>
        'stream' in error && typeof error.stream === 'string'
          ? { ...error, stream: inside(error.stream) }
          : error,
      )(await task())
  /** What names no stream is refused by the store. */
  const placed = (append: AppendRequest): AppendRequest =>
    typeof append.stream === 'string' && append.stream !== ''
      ? {
          ...append,
          stream: outside(append.stream),
          ...(append.replaces && {
            replaces: append.replaces.map((one) => ({ ...one, stream: outside(one.stream) })),
          }),
          ...(append.unchanged && {
            unchanged: append.unchanged.map((one) => ({ ...one, stream: outside(one.stream) })),
          }),
          ...(append.unwritten && {
            unwritten: { ...append.unwritten, prefix: outside(append.unwritten.prefix) },
          }),
        }
      : append
  const hashes = new Map<string, string>()
  const hashOutside = (sha256: string): string => {
    const hash = createHash('sha256').update(outside(sha256)).digest('hex')
    hashes.set(hash, sha256)
    return hash
  }
  return {
    ...store,
    blobs: {
      put: (sha256, chunks) => store.blobs.put(hashOutside(sha256), chunks),
      get: (sha256) => store.blobs.get(hashOutside(sha256)),
      remove: (sha256, before) => store.blobs.remove(hashOutside(sha256), before),
      list: async function* () {
        for await (const info of store.blobs.list()) {
          const sha256 = hashes.get(info.sha256)
          if (sha256 !== undefined) yield { ...info, sha256 }
        }
      },
    },
    append: (append) => mapLeft(store.append(placed(append))),
    read: (range) =>
      mapLeft(
        TE.map((events: readonly RecordedEvent[]) => events.map(own))(
          store.read({ ...range, stream: outside(range.stream) }),
        ),
      ),
    find: (stream, id) => store.find(outside(stream), id),
    count: (stream, type, through) => store.count(outside(stream), type, through),
    keptEnd: (stream) => store.keptEnd(outside(stream)),
    streams: (prefix, after, limit) =>
      TE.map((names: readonly string[]) => names.map(inside))(
        store.streams(outside(prefix), after === '' ? '' : outside(after), limit),
      ),
    newest: (prefixes, before, limit) =>
      TE.map((names: readonly string[]) => names.map(inside))(
        store.newest(prefixes.map(outside), before === undefined ? before : outside(before), limit),
      ),
    ...(neverBegun && {
      neverBegun: (streams) =>
        TE.map((names: ReadonlySet<string>) => new Set([...names].map(inside)))(
          neverBegun(streams.map(outside)),
        ),
    }),
    changed: (prefix, since) =>
      TE.map(({ checkpoint, streams }: StreamChanges) => ({
        checkpoint,
        streams: streams && new Set([...streams].map(inside)),
      }))(store.changed(outside(prefix), since)),
    readAll: ({ prefixes = [''], ...range }) =>
      TE.map(
        ({
          events,
          checkpoint,
        }: {
          readonly events: readonly RecordedEvent[]
          readonly checkpoint: string | undefined
        }) => ({
          events: events.map(own),
          checkpoint,
        }),
      )(store.readAll({ ...range, prefixes: prefixes.map(outside) })),
    follow: async function* ({ prefixes = [''], ...options }) {
      for await (const followed of store.follow({ ...options, prefixes: prefixes.map(outside) }))
        yield followed.type === 'event' ? { ...followed, event: own(followed.event) } : followed
    },
  }
}
