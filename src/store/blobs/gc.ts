import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { StoreError } from '../errors.ts'
import { type BlobInfo, type EventStore, streamPage } from '../port.ts'
import { isCut, referencesOf } from './cut.ts'
import { isStoreError, unreadable } from './restore.ts'

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
  const used = await referred(store)
  if (E.isLeft(used)) return used
  const listed = await list(store)
  if (E.isLeft(listed)) return listed
  const unreferenced = listed.right.filter(({ sha256, time }) => !used.right.has(sha256) && time < olderThan)
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

/**
 * The hashes that events of any stream refer to: conversations are not all that is written through `withLargeContent`. An event whose
 * references cannot be read ends it: what they name must not be removed.
 */
const referred = async (
  store: EventStore,
): Promise<E.Either<StoreError | InvalidInput, ReadonlySet<string>>> => {
  const used = new Set<string>()
  for (let after: string | undefined; ;) {
    const page = await store.readAll({ after, limit: streamPage })()
    if (E.isLeft(page)) return page
    for (const event of page.right.events.filter(isCut)) {
      const references = referencesOf(event)
      if (!references) return E.left(unreadable(event))
      for (const { sha256 } of references) used.add(sha256)
    }
    if (page.right.checkpoint === after) return E.right(used)
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
