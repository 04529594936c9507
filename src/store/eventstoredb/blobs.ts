import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { type StoreError, toError } from '../errors.ts'
import type { BlobInfo, Blobs } from '../port.ts'
import type { Append } from './appender.ts'
import type { Connection } from './connection.ts'
import type { Directory } from './directory.ts'
import type { ServerEvent } from './messages.ts'
import type { Reads } from './reads.ts'

// A stream `blob-<sha256>` holds chunks (`BlobChunk`), then a `BlobStored` that names their revisions; a `BlobKept` renews its time.
// Chunks without a `BlobStored` are what a crash left, or what another writer has begun.

const streamOf = (sha256: string): string => `blob-${sha256}`

/** The data of `BlobStored` and `BlobKept`. */
interface Seal {
  readonly bytes: number
  /** The revisions of its chunks, in order. */
  readonly chunks: readonly number[]
}

/** How many events are read at once: chunks are large. */
const page = 4
/** How many blobs are looked at side by side. */
const atOnce = 32

const isSeal = ({ type }: ServerEvent): boolean => type === 'BlobStored' || type === 'BlobKept'
const sealOf = ({ data }: ServerEvent): Seal => JSON.parse(Buffer.from(data).toString()) as Seal

export const blobs = (connection: Connection, reads: Reads, append: Append, directory: Directory): Blobs => {
  const newestSeal = async (sha256: string): Promise<E.Either<StoreError, ServerEvent | undefined>> => {
    const stream = streamOf(sha256)
    // Most often it is the last event, and what comes before it are chunks.
    for (let from = Number.MAX_SAFE_INTEGER, limit = 1; ; limit = page) {
      const found = await reads.whatIsThere({ stream, from, direction: 'backwards', limit })
      if (E.isLeft(found)) return found
      const seal = found.right.find(isSeal)
      const oldest = found.right.at(-1)
      if (seal || !oldest || oldest.revision === 0) return E.right(seal)
      from = oldest.revision - 1
    }
  }

  const write = async (
    sha256: string,
    type: string,
    data: string | Uint8Array,
  ): Promise<E.Either<StoreError, number>> => {
    const event = { id: randomUUID(), type, data, metadata: '{}' }
    const written = await append({ stream: streamOf(sha256), expected: 'any', events: [event] })
    return E.map(({ revision }: { readonly revision: number }) => revision)(written)
  }

  const put = async (sha256: string, chunks: Iterable<Uint8Array>): Promise<E.Either<StoreError, void>> => {
    const found = await newestSeal(sha256)
    if (E.isLeft(found)) return found
    if (found.right)
      return E.map(() => undefined)(await write(sha256, 'BlobKept', JSON.stringify(sealOf(found.right))))
    const begun = await directory.begin(streamOf(sha256))
    if (E.isLeft(begun)) return begun
    const revisions: number[] = []
    let bytes = 0
    for (const chunk of chunks) {
      const written = await write(sha256, 'BlobChunk', chunk)
      if (E.isLeft(written)) return written
      revisions.push(written.right)
      bytes += chunk.length
    }
    const seal: Seal = { bytes, chunks: revisions }
    return E.map(() => undefined)(await write(sha256, 'BlobStored', JSON.stringify(seal)))
  }

  async function* get(sha256: string): AsyncGenerator<Uint8Array, void> {
    const stream = streamOf(sha256)
    const found = await newestSeal(sha256)
    if (E.isLeft(found)) throw toError(found.left)
    const chunks = found.right ? sealOf(found.right).chunks : []
    const wanted = new Set(chunks)
    const last = chunks.at(-1) ?? -1
    for (let from = chunks[0] ?? 0; from <= last; from += page) {
      const read = await reads.whatIsThere({ stream, from, direction: 'forwards', limit: page })
      if (E.isLeft(read)) throw toError(read.left)
      for (const { revision, data } of read.right) if (wanted.has(revision)) yield data
    }
  }

  const infoOf = async (name: string): Promise<E.Either<StoreError, BlobInfo | undefined>> => {
    const sha256 = name.slice(streamOf('').length)
    // One that was removed keeps its entry, and one that never came has one.
    return E.map(
      (seal: ServerEvent | undefined) =>
        seal && { sha256, bytes: sealOf(seal).bytes, time: new Date(seal.created) },
    )(await newestSeal(sha256))
  }

  async function* list(): AsyncGenerator<BlobInfo, void> {
    const names = await directory.newest('', undefined, Infinity)
    if (E.isLeft(names)) throw toError(names.left)
    for (let next = 0; next < names.right.length; next += atOnce)
      for (const info of await Promise.all(names.right.slice(next, next + atOnce).map(infoOf))) {
        if (E.isLeft(info)) throw toError(info.left)
        if (info.right) yield info.right
      }
  }

  const remove = async (sha256: string, before: Date): Promise<E.Either<StoreError, void>> => {
    const found = await newestSeal(sha256)
    if (E.isLeft(found)) return found
    const seal = found.right
    if (!seal || seal.created >= before.getTime()) return E.right(undefined)
    return connection.again(async () => {
      try {
        await connection.client.deleteStream(streamOf(sha256), {
          // One that was put in the meantime has another last event, and stays.
          expectedRevision: BigInt(seal.revision),
          requiresLeader: true,
          ...(connection.settings.credentials && { credentials: connection.settings.credentials }),
        })
      } catch (failure) {
        if (!wasPutSince(failure)) throw failure
      }
    })
  }

  return {
    put: (sha256, chunks) => () => put(sha256, chunks),
    get,
    list,
    remove: (sha256, before) => () => remove(sha256, before),
  }
}

const wasPutSince = (failure: unknown): boolean =>
  typeof failure === 'object' &&
  failure !== null &&
  'type' in failure &&
  failure.type === 'wrong-expected-version'
