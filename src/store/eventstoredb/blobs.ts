import { randomUUID } from 'node:crypto'
import { orThrow, run, type Fallible, task } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import type { BlobInfo, BlobStore } from '../port.ts'
import type { StreamAppender } from './appender.ts'
import type { Connection } from './connection.ts'
import type { Directory } from './directory.ts'
import { trailerOf } from './failures.ts'
import { deleteRequest } from './requests.ts'
import type { ServerEvent } from './responses.ts'
import type { Reads } from './reads.ts'

// A stream `blob-<sha256>` holds chunks (`BlobChunk`), then a `BlobStored` that names their revisions; a `BlobKept` renews its time.
// Chunks without a `BlobStored` were left by a crash, or belong to a write under way.

const streamOf = (sha256: string): string => `blob-${sha256}`

/** Data of a `BlobStored` or `BlobKept` event. */
interface Seal {
  readonly bytes: number
  /** Revisions of the blob's chunks, in order. */
  readonly chunks: readonly number[]
}

/** Number of events read at a time; it is small because chunks are large. */
const page = 4
/** Number of blobs examined concurrently. */
const atOnce = 32

const isSeal = ({ type }: ServerEvent): boolean => type === 'BlobStored' || type === 'BlobKept'
const sealOf = ({ data }: ServerEvent): Seal => JSON.parse(Buffer.from(data).toString()) as Seal

export const blobs = (
  connection: Connection,
  reads: Reads,
  append: StreamAppender,
  directory: Directory,
): BlobStore => {
  async function* newestSeal(sha256: string): Fallible<StoreError, ServerEvent | undefined> {
    const stream = streamOf(sha256)
    // The seal is usually the last event, and all events before it are chunks.
    for (let from = Number.MAX_SAFE_INTEGER, limit = 1; ; limit = page) {
      const found = yield* reads.whatIsThere({ stream, from, direction: 'backwards', limit })
      const seal = found.find(isSeal)
      const oldest = found.at(-1)
      if (seal || !oldest || oldest.revision === 0) return seal
      from = oldest.revision - 1
    }
  }

  /** Appends an event to a blob's stream and returns the event's revision. */
  async function* write(
    sha256: string,
    type: string,
    data: string | Uint8Array,
  ): Fallible<StoreError, number> {
    const event = { id: randomUUID(), type, data, metadata: '{}' }
    const { revision } = yield* append({ stream: streamOf(sha256), expected: 'any', events: [event] })
    return revision
  }

  async function* put(sha256: string, chunks: Iterable<Uint8Array>): Fallible<StoreError, void> {
    const found = yield* newestSeal(sha256)
    if (found) {
      yield* write(sha256, 'BlobKept', JSON.stringify(sealOf(found)))
      return
    }
    yield* directory.begin(streamOf(sha256))
    const revisions: number[] = []
    let bytes = 0
    for (const chunk of chunks) {
      revisions.push(yield* write(sha256, 'BlobChunk', chunk))
      bytes += chunk.length
    }
    const seal: Seal = { bytes, chunks: revisions }
    yield* write(sha256, 'BlobStored', JSON.stringify(seal))
  }

  async function* get(sha256: string): AsyncGenerator<Uint8Array, void> {
    const stream = streamOf(sha256)
    const found = await orThrow(run(newestSeal(sha256)))
    const chunks = found ? sealOf(found).chunks : []
    const wanted = new Set(chunks)
    const last = chunks.at(-1) ?? -1
    for (let from = chunks[0] ?? 0; from <= last; from += page) {
      const read = await orThrow(run(reads.whatIsThere({ stream, from, direction: 'forwards', limit: page })))
      for (const { revision, data } of read) if (wanted.has(revision)) yield data
    }
  }

  /**
   * Returns the hash, size and time of a blob; undefined if the blob was removed or never written. The directory also lists such blobs.
   */
  async function* infoOf(sha256: string): Fallible<StoreError, BlobInfo | undefined> {
    const seal = yield* newestSeal(sha256)
    return seal && { sha256, bytes: sealOf(seal).bytes, time: new Date(seal.created) }
  }

  async function* list(): AsyncGenerator<BlobInfo, void> {
    const names = await orThrow(run(directory.newest([''], undefined, Infinity)))
    for (let next = 0; next < names.length; next += atOnce) {
      const looks = names
        .slice(next, next + atOnce)
        .map((name) => run(infoOf(name.slice(streamOf('').length))))
      for (const look of await Promise.all(looks)) {
        const info = await orThrow(look)
        if (info) yield info
      }
    }
  }

  async function* remove(sha256: string, before: Date): Fallible<StoreError, void> {
    const seal = yield* newestSeal(sha256)
    if (!seal || seal.created >= before.getTime()) return
    // A blob that was put again in the meantime has another last event, and is kept.
    const request = deleteRequest(streamOf(sha256), seal.revision)
    yield* connection.again(
      (client) =>
        new Promise<void>((resolve, reject) => {
          client.delete(request, ...connection.callArguments(connection.settings.attempt), (failure) =>
            failure && trailerOf(failure, 'exception') !== 'wrong-expected-version'
              ? reject(failure)
              : resolve(),
          )
        }),
    )
  }

  return {
    put: (sha256, chunks) => task(() => put(sha256, chunks)),
    get,
    list,
    remove: (sha256, before) => task(() => remove(sha256, before)),
    info: (sha256) => task(() => infoOf(sha256)),
  }
}
