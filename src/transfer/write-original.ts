import { createHash, type Hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { chainEndAt } from '../conversation/reading/ends.ts'
import {
  archivedParts,
  notKept,
  type OriginalNotKept,
  originalPieces,
} from '../conversation/reading/original.ts'
import { check } from '../events/check.ts'
import type { StoredEvent } from '../events/codec.ts'
import { type EventTooLarge, invalidInput } from '../events/errors.ts'
import { archivedIn, archiveStreamOf, conversationIdSchema } from '../events/ids.ts'
import { erasedStub } from '../events/withheld.ts'
import { type Fallible, orThrow, run, unwrap } from '../result/fallible.ts'
import { conflict, type StoreError, type WriteError } from '../store/errors.ts'
import { createLruCache, type LruCache } from '../store/lru.ts'
import { checkOptions, kinds } from '../store/options.ts'
import { namePages } from '../store/pages.ts'
import { type EventStore, maxPage } from '../store/port.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'
import { encodeParts, partIn, partsOf } from './prepare-archive.ts'
import { writeAll } from './write-whole.ts'

/** A change of the file that is kept beside a conversation. */
export interface OriginalChange {
  /** Format of the file, such as `claude-code`: 1 to 200 characters. */
  readonly format: string
  /** Text that replaces the file's bytes from `from` on, stored as UTF-8. */
  readonly text: string
  /** Offset in bytes, at most the size of the file. Default: its end. */
  readonly from?: number | undefined
  /** `revision` of the file that the caller has read; -1 if there was none. */
  readonly after: number
}

/** Size in bytes and revision of a file that is kept beside a conversation. */
export interface OriginalVersion {
  readonly bytes: number
  readonly revision: number
}

/** A file that is kept beside a conversation. */
export interface OriginalInfo extends OriginalVersion {
  /** Id of the conversation, which has no events as long as the file has no messages. */
  readonly conversation: string
  readonly format: string
  /** Time of the last change (ISO 8601). */
  readonly time: string
}

export interface OriginalsOptions {
  /** Prefix of the ids of the conversations. Default: all. */
  readonly beginning?: string | undefined
}

export type OriginalError = WriteError | EventTooLarge | OriginalNotKept

/** Hash of all bytes of a file, by the revision of its last part. */
interface FileHash {
  readonly revision: number
  readonly hash: Hash
}

/** Maximum number of files whose hash is remembered. Without it, the whole file is read again to add to it. */
const mostRemembered = 100

const changeFields = { format: kinds.text, text: kinds.text, from: kinds.count, after: kinds.number }

/** Returns a function that changes the files kept beside conversations. */
export const createOriginalWriter = (store: LayeredStore) => {
  const hashes = createLruCache<FileHash>(mostRemembered)
  return (conversation: string, change: OriginalChange): Fallible<OriginalError, OriginalVersion> =>
    writeOriginal(store, hashes, conversation, change)
}

async function* writeOriginal(
  store: LayeredStore,
  hashes: LruCache<FileHash>,
  conversation: string,
  change: OriginalChange,
): Fallible<OriginalError, OriginalVersion> {
  const id = check(conversationIdSchema, conversation)
  if (E.isLeft(id)) return yield invalidInput('id', id.left.message)
  const { format, text = '', after, from: wished } = yield* unwrap(checkOptions(change, changeFields))
  if (format === undefined || format === '' || format.length > 200 || text === '' || after === undefined)
    return yield invalidInput(
      'change',
      'must be { format, text, after }, with a text of at least one character',
    )
  const stream = archiveStreamOf(conversation)
  const { last, unfinished } = yield* readStreamEnd(store, stream)
  const newest = unfinished ?? last
  if (newest && erasedStub(newest.metadata) !== undefined)
    return yield notKept(conversation, 'it was erased, and nothing is kept after that: begin a new one')
  const revision = last?.revision ?? -1
  if (revision !== after) return yield conflict(stream, after, revision)
  const part = last && partIn(last.data)
  const size = part ? part.from + part.bytes : 0
  const from = wished ?? size
  if (from > size) return yield invalidInput('from', `must be at most ${size}, the size of the file`)
  const hash = yield* hashBefore(store, conversation, { from, size, revision }, hashes.get(stream))
  const end = chainEndAt([], newest)
  const events: StoredEvent[] = []
  const bytes = Buffer.from(text)
  for await (const stored of encodeParts(store, stream, end.hash, { format, from, hash }, partsOf([bytes])))
    events.push(yield* unwrap(stored))
  // Parts of a write that was interrupted are replaced, because these parts begin before them.
  yield* writeAll(store, [{ id: conversation, stream, end, open: unfinished?.part, events }], () => undefined)
  const written = { bytes: from + bytes.length, revision: end.revision + events.length }
  hashes.set(stream, { revision: written.revision, hash })
  return written
}

/** Returns the hash of the bytes before an offset. */
async function* hashBefore(
  store: EventStore,
  conversation: string,
  { from, size, revision }: { readonly from: number; readonly size: number; readonly revision: number },
  known: FileHash | undefined,
): Fallible<StoreError, Hash> {
  if (from === size && known?.revision === revision) return known.hash.copy()
  const hash = createHash('sha256')
  if (from === 0) return hash
  const { parts } = yield* archivedParts(store, conversation)
  let left = from
  for await (const piece of originalPieces(store, conversation, parts)) {
    hash.update(piece.subarray(0, left))
    left -= Math.min(left, piece.length)
    if (left === 0) break
  }
  return hash
}

/** Lists the files kept beside conversations, in order of the ids. Erased ones are left out. Throws a `StoreError` or `InvalidInput`. */
export async function* listOriginals(
  store: EventStore,
  options: OriginalsOptions | undefined,
): AsyncGenerator<OriginalInfo, void> {
  const { beginning = '' } = await orThrow(checkOptions(options, { beginning: kinds.text }))
  const prefix = archiveStreamOf(beginning)
  for await (const names of namePages((last = '') => store.streams(prefix, last, maxPage)))
    for (const name of await orThrow(names)) {
      const { last } = await orThrow(run(readStreamEnd(store, name)))
      if (!last || erasedStub(last.metadata) !== undefined) continue
      const { format, from, bytes } = partIn(last.data)
      const { time } = JSON.parse(last.metadata) as { readonly time: string }
      yield {
        conversation: archivedIn(name) ?? '',
        format,
        bytes: from + bytes,
        revision: last.revision,
        time,
      }
    }
}
