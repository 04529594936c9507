import { createHash, type Hash } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import * as E from 'fp-ts/lib/Either.js'
import { type ArchiveFact, archiveCodec, mostArchived } from '../events/archive-events.ts'
import { hashOf, type StoredEvent } from '../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import { archiveStreamOf, eventId, newCommandId } from '../events/ids.ts'
import { erasedStub } from '../events/withheld.ts'
import { chainEndAt } from '../conversation/reading/ends.ts'
import { isoTimeOf } from '../conversation/writing/encode.ts'
import { unwrap, type Fallible } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'
import type { WriteError } from '../store/errors.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import type { ImportError } from './formats/errors.ts'
import { listOn, type Shelf } from './formats/shelf.ts'
import { archivedParts, originalPieces } from '../conversation/reading/original.ts'
import { eventIn, textOf } from './prepare-events.ts'
import { fileShelf } from './shelf.ts'
import type { Addition } from './write-whole.ts'

/** The bytes of a file, kept while it is read until they are archived. */
export interface FileCopy {
  /** Returns the pieces of a file as they are, and keeps a copy of them. */
  readonly taking: (pieces: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>
  readonly add: (piece: Uint8Array) => void
  readonly length: () => number
  /** Yields the bytes kept from an offset on, in order. */
  readonly pieces: (from: number) => Iterable<Buffer>
  /** Returns the SHA-256 of the first `length` bytes. More bytes may be added to it. */
  readonly hashTo: (length: number) => Hash
  readonly close: () => void
}

/** Returns a copy of a file. A copy of more than a few megabytes is in a temporary file. */
export const createFileCopy = (): FileCopy => {
  const shelf = fileShelf()
  const places: number[] = []
  /** Offset of the byte after each piece. */
  const ends: number[] = []
  const length = (): number => ends.at(-1) ?? 0
  const add = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at += mostArchived) {
      const piece = bytes.subarray(at, at + mostArchived)
      places.push(shelf.putBytes(piece))
      ends.push(length() + piece.length)
    }
  }
  const piecesFrom = function* (from: number): Generator<Buffer> {
    for (const [index, place] of places.entries()) {
      const end = ends[index] ?? 0
      if (end <= from) continue
      const piece = shelf.getBytes(place)
      yield piece.subarray(Math.max(0, piece.length - (end - from)))
    }
  }
  let hashed = { length: 0, hash: createHash('sha256') }
  const hashTo = (to: number): Hash => {
    if (hashed.length > to) hashed = { length: 0, hash: createHash('sha256') }
    for (const piece of upTo(to - hashed.length, piecesFrom(hashed.length))) hashed.hash.update(piece)
    hashed.length = to
    return hashed.hash.copy()
  }
  return {
    async *taking(pieces) {
      for await (const piece of pieces) {
        // The reader of the file refuses anything else.
        if (piece instanceof Uint8Array) add(piece)
        yield piece
      }
    },
    add,
    length,
    pieces: piecesFrom,
    hashTo,
    close: shelf.close,
  }
}

/**
 * Prepares the events that archive a file with its conversation: what the archive does not have yet, or the whole file if it does not
 * continue the archived one. Once content of the archive was erased, nothing is added to it, because the file still has that content.
 */
export async function* prepareArchive(
  store: LayeredStore,
  id: string,
  copy: FileCopy,
  { format, shelf }: { readonly format: string; readonly shelf: Shelf },
): Fallible<ImportError | WriteError, Addition> {
  const stream = archiveStreamOf(id)
  const { last, unfinished } = yield* readStreamEnd(store, stream)
  const newest = unfinished ?? last
  const end = chainEndAt([], newest)
  const there = { id, stream, end, open: unfinished?.part }
  if (newest && erasedStub(newest.metadata) !== undefined) return { ...there, events: [] }
  const { from = 0, bytes = 0, sha256 } = newest ? partIn(newest.data) : {}
  const archived = from + bytes
  if (copy.length() < archived && (yield* isBeginning(store, id, copy))) return { ...there, events: [] }
  const begun = copy.hashTo(Math.min(archived, copy.length()))
  const isContinued = copy.length() >= archived && (archived === 0 || begun.copy().digest('hex') === sha256)
  const hash = isContinued ? begun : createHash('sha256')
  const places: number[] = []
  const file = { format, from: isContinued ? archived : 0, hash }
  const parts = partsOf(copy.pieces(file.from))
  for await (const stored of encodeParts(store, stream, end.hash, file, parts))
    places.push(shelf.putText(textOf(yield* unwrap(stored))))
  return { ...there, events: listOn(places, (place) => eventIn(shelf.getText(place))) }
}

/** A file of which further parts are archived: the offset of the first one, and the hash of all bytes before it, which is updated. */
interface GrowingFile {
  readonly format: string
  readonly from: number
  readonly hash: Hash
}

/**
 * Yields the events that archive parts of a file.
 *
 * @param prev hash of the stream's last event; null if it has none
 */
export async function* encodeParts(
  store: LayeredStore,
  stream: string,
  prev: string | null,
  { format, from, hash }: GrowingFile,
  parts: Iterable<Buffer>,
): AsyncGenerator<E.Either<EventTooLarge | InvalidInput, StoredEvent>, void> {
  const commandId = newCommandId()
  const time = isoTimeOf(new Date())
  const actor = { kind: 'import', id: format }
  let at = from
  let last = prev
  let index = 0
  for (const part of parts) {
    const zstd = zstdCompressSync(part).toString('base64')
    const sha256 = hash.update(part).copy().digest('hex')
    const data = { format, from: at, bytes: part.length, zstd, sha256 }
    const metadata = { time, actor, commandId, prev: last }
    const event = archiveCodec.encode(
      { type: 'FileArchived', data },
      eventId(stream, commandId, index++),
      metadata,
    )
    const checked = E.flatMap((stored: StoredEvent) => E.map(() => stored)(store.check(stored)))(event)
    yield checked
    if (E.isLeft(checked)) return
    last = hashOf(checked.right)
    at += part.length
    await breath()
  }
}

export const partIn = (data: string): ArchiveFact['data'] => JSON.parse(data) as ArchiveFact['data']

/** Reports whether a file is the beginning of the archived one. */
async function* isBeginning(
  store: LayeredStore,
  id: string,
  copy: FileCopy,
): Fallible<ImportError | WriteError, boolean> {
  const { parts } = yield* archivedParts(store, id)
  const archived = createHash('sha256')
  let left = copy.length()
  for await (const piece of originalPieces(store, id, parts)) {
    archived.update(piece.subarray(0, left))
    left -= piece.length
    if (left <= 0) break
  }
  return copy.hashTo(copy.length()).digest('hex') === archived.digest('hex')
}

function* upTo(end: number, pieces: Iterable<Buffer>): Generator<Buffer> {
  let left = end
  for (const piece of pieces) {
    if (left <= 0) return
    yield piece.subarray(0, left)
    left -= piece.length
  }
}

/** Yields the bytes in parts of the largest size; the last one may be smaller. */
export function* partsOf(pieces: Iterable<Buffer>): Generator<Buffer> {
  let held: Buffer[] = []
  let length = 0
  for (const piece of pieces) {
    let rest = piece
    while (rest.length > 0) {
      const taken = rest.subarray(0, mostArchived - length)
      held.push(taken)
      length += taken.length
      rest = rest.subarray(taken.length)
      if (length < mostArchived) continue
      yield Buffer.concat(held)
      held = []
      length = 0
    }
  }
  if (length > 0) yield Buffer.concat(held)
}
