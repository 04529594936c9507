import { zstdDecompressSync } from 'node:zlib'
import * as E from 'fp-ts/lib/Either.js'
import { type ArchiveEvent, archiveCodec } from '../../events/archive-events.ts'
import type { DecodeFailed } from '../../events/errors.ts'
import { archiveStreamOf } from '../../events/ids.ts'
import { orThrow, unwrap, type Fallible } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import type { StoreError } from '../../store/errors.ts'
import { pagesOf } from '../../store/pages.ts'
import type { EventStore, RecordedEvent } from '../../store/port.ts'
import { readStreamEnd } from '../../store/whole/whole-writes.ts'

/** The file of another program from which a conversation was imported, as it was at the last import. */
export interface OriginalFile {
  /** Format in which the file was read. */
  readonly format: string
  /** Size of the file in bytes. */
  readonly bytes: number
  /** SHA-256 of the file, in hex. */
  readonly sha256: string
  /** Revision of the last part, for `writeOriginal`. */
  readonly revision: number
  /** The bytes of the file, read from the store as they are iterated. Throws a `ReadError` or `OriginalNotKept` during iteration. */
  readonly pieces: AsyncIterable<Uint8Array>
}

/** The store does not have the file from which a conversation was imported; the message says why. */
export interface OriginalNotKept {
  readonly _tag: 'OriginalNotKept'
  readonly message: string
  readonly conversation: string
}

/** A part of an archived file: the first `bytes` bytes of an event. */
interface ArchivedPart {
  readonly revision: number
  readonly bytes: number
}

interface ArchivedParts {
  readonly parts: readonly ArchivedPart[]
  /** The last part; absent if no file is archived. */
  readonly newest?: ArchiveEvent & { readonly revision: number }
}

/** Finds the parts of an archived file, in the order of the file. Their number is proportional to the size of the file. */
export async function* archivedParts(
  store: EventStore,
  conversation: string,
): Fallible<StoreError, ArchivedParts> {
  const stream = archiveStreamOf(conversation)
  const { last } = yield* readStreamEnd(store, stream)
  let parts: { readonly revision: number; readonly from: number; bytes: number }[] = []
  let newest: ArchivedParts['newest']
  for await (const page of pagesOf(store, stream, { to: last?.revision ?? -1 }))
    for (const stored of yield* unwrap(page)) {
      const { revision } = stored
      newest = { ...(yield* unwrap(archiveCodec.decode(stored, stored))), revision }
      const { from, bytes } = newest.data
      parts = parts.filter((part) => part.from < from)
      const before = parts.at(-1)
      if (before) before.bytes = Math.min(before.bytes, from - before.from)
      parts.push({ revision, from, bytes })
    }
  return { parts, ...(newest && { newest }) }
}

/** Yields the bytes of an archived file. Throws a `ReadError`, and `OriginalNotKept` if it is erased in the meantime. */
export async function* originalPieces(
  store: EventStore,
  conversation: string,
  parts: readonly ArchivedPart[],
): AsyncGenerator<Uint8Array> {
  const stream = archiveStreamOf(conversation)
  for (const { revision, bytes } of parts) {
    const range = { stream, from: revision, direction: 'forwards', limit: 1 } as const
    const [stored] = await orThrow(store.read(range))
    const decoded = stored && archiveCodec.decode(stored, stored)
    if (!decoded) continue
    if (E.isLeft(decoded)) throw toError(decoded.left)
    const { data, metadata } = decoded.right
    // Erased after the parts were found.
    if (data.zstd === undefined) throw toError(notKept(conversation, erasedAt(metadata)))
    yield inflated(stored, data).subarray(0, bytes)
  }
}

const inflated = (
  { stream, revision }: RecordedEvent,
  { zstd = '', bytes: maxOutputLength }: ArchiveEvent['data'],
): Buffer => {
  try {
    return zstdDecompressSync(Buffer.from(zstd, 'base64'), { maxOutputLength })
  } catch (error) {
    const message = `event ${revision} of stream ${stream} cannot be read as a part of a file: ${String(error)}`
    throw toError({ _tag: 'DecodeFailed', message, stream, revision } satisfies DecodeFailed)
  }
}

const erasedAt = ({ erased }: ArchiveEvent['metadata']): string =>
  `it was erased at ${erased?.time ?? 'an unknown time'}`

/** Finds the file from which a conversation was imported. */
export async function* findOriginal(
  store: EventStore,
  conversation: string,
): Fallible<StoreError | OriginalNotKept, OriginalFile> {
  const { parts, newest } = yield* archivedParts(store, conversation)
  if (!newest) return yield notKept(conversation, 'it was not imported, or its file was not archived')
  const { format, from, bytes, sha256 } = newest.data
  if (newest.metadata.erased || sha256 === undefined)
    return yield notKept(conversation, erasedAt(newest.metadata))
  const pieces = { [Symbol.asyncIterator]: () => originalPieces(store, conversation, parts) }
  return { format, bytes: from + bytes, sha256, revision: newest.revision, pieces }
}

export const notKept = (conversation: string, why: string): OriginalNotKept => ({
  _tag: 'OriginalNotKept',
  message: `the store does not have the original file of ${conversation}: ${why}`,
  conversation,
})
