import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import { unwrap, orThrow, run, type Fallible, task } from '../result/fallible.ts'
import { despiteConflicts } from './conflicts.ts'
import { type StoreError, storeFaulty } from './errors.ts'
import { backwards, namePages } from './pages.ts'
import type { BlobInfo, BlobStore, EventLog, EventStore, RecordedEvent, StreamIndex } from './port.ts'

// Blobs for a store that keeps only events. A stream `blob-<sha256>` holds chunks in base64 (`BlobChunk`), then a `BlobStored` with
// their revisions; `BlobKept` renews its time and `BlobRemoved` ends it. Chunks that no `BlobStored` names were left by a crash.

const blobPrefix = 'blob-'

/** Data of `BlobStored`, `BlobKept` and `BlobRemoved`. */
interface BlobSeal {
  readonly bytes: number
  /** Revisions of the blob's chunks, in order. */
  readonly chunks: readonly number[]
  /** Time at which the blob was last put, in ISO 8601. */
  readonly time: string
}

interface LiveSeal extends BlobSeal {
  /** Revision of the seal in the blob's stream. */
  readonly revision: number
}

/** Number of events read at a time; it is small because chunks are large. */
const pageOfChunks = 4
const pageOfNames = 1_000

/**
 * Creates a blob store that stores blobs as events. A removed blob can no longer be read, but its bytes remain in the log.
 *
 * @param index lists the names of all streams that the blob store writes
 */
export const blobsInStreams = (log: EventLog, index: StreamIndex): BlobStore => {
  async function* newestSeal(sha256: string): Fallible<StoreError, RecordedEvent | undefined> {
    const stream = blobPrefix + sha256
    for await (const read of backwards(log, stream, { limit: pageOfChunks })) {
      const event = yield* unwrap(read)
      if (event.type !== 'BlobChunk') return event
    }
    return undefined
  }

  /** Returns the latest seal of a blob; undefined if the blob does not exist or was removed. */
  async function* liveSeal(sha256: string): Fallible<StoreError, LiveSeal | undefined> {
    const found = yield* newestSeal(sha256)
    if (!found || found.type === 'BlobRemoved') return undefined
    return { ...(JSON.parse(found.data) as BlobSeal), revision: found.revision }
  }

  /** Appends an event at the end of a blob's stream, retrying if others append at the same time. Returns the event's revision. */
  const write = (sha256: string, type: string, data: object): Fallible<StoreError, number> =>
    despiteConflicts(async function* (): Fallible<StoreError, number> {
      const stream = blobPrefix + sha256
      const events = [{ id: randomUUID(), type, data: JSON.stringify(data), metadata: '{}' }]
      const end = { stream, from: Number.MAX_SAFE_INTEGER, direction: 'backwards', limit: 1 } as const
      const expected = (yield* unwrap(log.read(end)))[0]?.revision ?? -1
      const written = await log.append({ stream, events, expected })()
      return E.isRight(written) ? expected + 1 : yield refused(log.url, written.left)
    })

  async function* put(sha256: string, chunks: Iterable<Uint8Array>): Fallible<StoreError, void> {
    const there = yield* liveSeal(sha256)
    const time = (): string => new Date().toISOString()
    if (there) {
      yield* write(sha256, 'BlobKept', { bytes: there.bytes, chunks: there.chunks, time: time() })
      return
    }
    const revisions: number[] = []
    let bytes = 0
    for (const chunk of chunks) {
      const base64 = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('base64')
      revisions.push(yield* write(sha256, 'BlobChunk', { base64 }))
      bytes += chunk.length
    }
    yield* write(sha256, 'BlobStored', { bytes, chunks: revisions, time: time() })
  }

  async function* get(sha256: string): AsyncGenerator<Uint8Array, void> {
    const { chunks = [] } = (await orThrow(run(liveSeal(sha256)))) ?? {}
    const stream = blobPrefix + sha256
    for (const from of chunks) {
      const [chunk] = await orThrow(log.read({ stream, from, direction: 'forwards', limit: 1 }))
      if (chunk) yield Buffer.from((JSON.parse(chunk.data) as { readonly base64: string }).base64, 'base64')
    }
  }

  async function* infoOf(sha256: string): Fallible<StoreError, BlobInfo | undefined> {
    const seal = yield* liveSeal(sha256)
    return seal && { sha256, bytes: seal.bytes, time: new Date(seal.time) }
  }

  async function* list(): AsyncGenerator<BlobInfo, void> {
    const pages = namePages((last) => index.streams(blobPrefix, last ?? '', pageOfNames))
    for await (const page of pages)
      for (const name of await orThrow(page)) {
        const sha256 = name.slice(blobPrefix.length)
        const info = await orThrow(run(infoOf(sha256)))
        if (info) yield info
      }
  }

  async function* remove(sha256: string, before: Date): Fallible<StoreError, void> {
    const seal = yield* liveSeal(sha256)
    if (!seal || new Date(seal.time) >= before) return
    const data = JSON.stringify({ bytes: 0, chunks: [], time: seal.time } satisfies BlobSeal)
    const events = [{ id: randomUUID(), type: 'BlobRemoved', data, metadata: '{}' }]
    const stream = blobPrefix + sha256
    const removed = await log.append({ stream, events, expected: seal.revision })()
    // A blob that was put again in the meantime is kept.
    if (E.isLeft(removed) && removed.left._tag !== 'Conflict') yield refused(log.url, removed.left)
  }

  return {
    put: (sha256, chunks) => task(() => put(sha256, chunks)),
    get,
    list,
    remove: (sha256, before) => task(() => remove(sha256, before)),
    info: (sha256) => task(() => infoOf(sha256)),
  }
}

/** Converts the rejection of a blob event to `StoreFaulty`, because every adapter must accept such events. */
const refused = (url: string, error: StoreError | EventTooLarge | InvalidInput): StoreError =>
  error._tag === 'EventTooLarge' || error._tag === 'InvalidInput'
    ? storeFaulty(url, 'append', `refuses an event of a blob (${error.message})`, error)
    : error

/** Returns a store that hides blob streams, because to its users blobs are not events. */
export const withoutBlobStreams = (store: EventStore): EventStore => ({
  ...store,
  streams: (prefix, after, limit) =>
    visibleNames((last) => store.streams(prefix, last ?? after, limit), limit),
  newest: (prefixes, before, limit) =>
    visibleNames((last) => store.newest(prefixes, last ?? before, limit), limit),
  changed: (prefix, since) =>
    pipe(
      store.changed(prefix, since),
      TE.map(({ checkpoint, streams }) => ({
        checkpoint,
        streams: streams && new Set([...streams].filter(isVisible)),
      })),
    ),
  readAll: (range) =>
    pipe(
      store.readAll(range),
      TE.map((page) => ({ ...page, events: page.events.filter(({ stream }) => isVisible(stream)) })),
    ),
  follow: async function* (options) {
    for await (const item of store.follow(options))
      yield item.type === 'checkpoint' || isVisible(item.event.stream)
        ? item
        : { type: 'checkpoint', checkpoint: item.checkpoint }
  },
})

const isVisible = (stream: string): boolean => !stream.startsWith(blobPrefix)

/**
 * Returns up to `limit` stream names, omitting blob streams and reading further pages as needed.
 *
 * @param list function that returns a page of at most `limit` names after the last name of the previous page
 */
const visibleNames = (
  list: (last: string | undefined) => TE.TaskEither<StoreError, readonly string[]>,
  limit: number,
): TE.TaskEither<StoreError, readonly string[]> =>
  task(async function* (): Fallible<StoreError, readonly string[]> {
    const visible: string[] = []
    for await (const page of namePages(list)) {
      const names = yield* unwrap(page)
      visible.push(...names.filter(isVisible))
      if (names.length < limit || visible.length >= limit) break
    }
    return visible.slice(0, limit)
  })
