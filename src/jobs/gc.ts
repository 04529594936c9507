import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { type StoreError, toError } from '../store/errors.ts'
import { type BlobInfo, type EventStore, maxPage, type RecordedEvent, streamPage } from '../store/port.ts'
import { isCut, referencesOf } from '../store/blobs/cut.ts'
import { isStoreError, unreadable } from '../store/blobs/restore.ts'

export interface GcOptions {
  /** Blobs put since then are left alone: an event may yet come that refers to them. Default: a day ago. */
  readonly olderThan?: Date
  /** Only list. Default false. */
  readonly dryRun?: boolean
}

/** What there is outside events, and what of it was removed. */
export interface Collected {
  /** All blobs, before any was removed, and their bytes together. */
  readonly blobs: number
  readonly bytes: number
  /** Those that no event refers to and that are old enough. */
  readonly unreferenced: readonly BlobInfo[]
  /** How many of these are removed now: all, or none in a dry run. One that was put again meanwhile stays. */
  readonly removed: number
}

const day = 24 * 60 * 60 * 1000

/**
 * Removes blobs that no event refers to. While others write: a writer puts a blob anew before the event that refers to it, and what was
 * put since `olderThan` stays.
 *
 * @param store as it is, without large content put back
 */
export const collect = async (
  store: EventStore,
  options: GcOptions = {},
): Promise<E.Either<StoreError | InvalidInput, Collected>> => {
  if (typeof options !== 'object' || options === null)
    return E.left(invalidInput('options', 'must be an object, like { dryRun: true }'))
  const now = Date.now()
  const { olderThan = new Date(now - day), dryRun = false } = options
  if (!(olderThan instanceof Date) || !(olderThan.getTime() <= now))
    return E.left(invalidInput('olderThan', 'must be a Date that is not in the future'))
  const listed = await list(store)
  if (E.isLeft(listed)) return listed
  const old = listed.right.filter(({ time }) => time < olderThan)
  const unused = await unreferredAmong(store, new Set(old.map(({ sha256 }) => sha256)))
  if (E.isLeft(unused)) return unused
  const unreferenced = old.filter(({ sha256 }) => unused.right.has(sha256))
  for (const { sha256 } of dryRun ? [] : unreferenced) {
    const removed = await store.blobs.remove(sha256, olderThan)()
    if (E.isLeft(removed)) return removed
  }
  return E.right({
    blobs: listed.right.length,
    bytes: listed.right.reduce((sum, { bytes }) => sum + bytes, 0),
    unreferenced,
    removed: dryRun ? 0 : unreferenced.length,
  })
}

type Result<A> = Promise<E.Either<StoreError | InvalidInput, A>>

/**
 * Which of these hashes no event refers to, of any stream: conversations are not all that is written through `withLargeContent`. An
 * event whose references cannot be read ends it: what they name must not be removed.
 *
 * Streams that are known are looked through first: most often nothing is left then. If something is, all events are, those of streams
 * that a writer of an earlier release has begun among them.
 */
const unreferredAmong = async (
  store: EventStore,
  hashes: ReadonlySet<string>,
): Result<ReadonlySet<string>> => {
  const left = new Set(hashes)
  try {
    for (const pages of [knownPages, allPages]) {
      if (left.size === 0) break
      for await (const page of pages(store)) {
        for (const event of page.filter(isCut)) {
          const references = referencesOf(event)
          if (!references) return E.left(unreadable(event))
          for (const { sha256 } of references) left.delete(sha256)
        }
        if (left.size === 0) break
      }
    }
    return E.right(left)
  } catch (error) {
    if (isStoreError(error)) return E.left(error)
    throw error
  }
}

type Pages = AsyncGenerator<readonly RecordedEvent[], void>

/** The events of streams that the store lists, as far as they can be read. Iteration throws a `StoreError`. */
async function* knownPages(store: EventStore): Pages {
  for (let before: string | undefined; ;) {
    const names = await store.newest('', before, maxPage)()
    if (E.isLeft(names)) throw toError(names.left)
    for (const stream of names.right)
      for (let from = 0; ;) {
        const page = await store.read({ stream, from, direction: 'forwards', limit: streamPage })()
        if (E.isLeft(page) && page.left._tag === 'HistoryLost') break
        if (E.isLeft(page)) throw toError(page.left)
        if (page.right.length === 0) break
        yield page.right
        from += page.right.length
      }
    before = names.right.at(-1)
    if (before === undefined) return
  }
}

/** All events there are. Iteration throws a `StoreError`. */
async function* allPages(store: EventStore): Pages {
  for (let after: string | undefined; ;) {
    const page = await store.readAll({ after, limit: streamPage })()
    if (E.isLeft(page)) throw toError(page.left)
    yield page.right.events
    if (page.right.checkpoint === after) return
    after = page.right.checkpoint
  }
}

const list = async ({ blobs }: EventStore): Promise<E.Either<StoreError, readonly BlobInfo[]>> => {
  try {
    const infos: BlobInfo[] = []
    for await (const info of blobs.list()) infos.push(info)
    return E.right(infos)
  } catch (error) {
    if (isStoreError(error)) return E.left(error)
    throw error
  }
}
