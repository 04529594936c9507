import type { InvalidInput } from '../../events/errors.ts'
import { catchTyped, orThrow, unwrap, type Fallible } from '../../result/fallible.ts'
import { referencesOf } from '../blobs/cut.ts'
import { unreferencedAmong } from '../blobs/gc.ts'
import type { StoreError } from '../errors.ts'
import { isCut } from '../marks.ts'
import { eventsAt, keyOfPlace } from '../pages.ts'
import type { EventStore } from '../port.ts'

// The contents that erased events had outside them, in the store beneath the layers.

/** Time for which content may be stored before the event that refers to it is written, in milliseconds. */
const settling = 60_000
/** The same for content of which it is not known that it belonged to an erased event. */
const abandoned = 60 * settling

/** Returns the hashes of the contents that the events at these places have outside them, by `keyOfPlace`. */
export const contentsAt = async (
  adapter: EventStore,
  places: Parameters<typeof eventsAt>[1],
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const contents = new Map<string, readonly string[]>()
  for await (const page of eventsAt(adapter, places))
    for (const stored of await orThrow(page))
      if (isCut(stored))
        contents.set(
          keyOfPlace(stored),
          (referencesOf(stored) ?? []).map(({ sha256 }) => sha256),
        )
  return contents
}

/**
 * Removes the contents to which no event refers any more. That includes contents of events that were erased before: an erasure may have
 * been interrupted, or too early to remove them, and nothing says any more which contents those events had.
 */
export async function* removeContents(
  adapter: EventStore,
  own: ReadonlySet<string>,
): Fallible<StoreError | InvalidInput, { readonly contents: number; readonly recent: number }> {
  const before = yield* listed(adapter)
  const all = new Set([...before, ...own])
  if (all.size === 0) return { contents: 0, recent: 0 }
  const unused = yield* unreferencedAmong(adapter, all)
  for (const sha256 of unused) {
    const age = own.has(sha256) ? settling : abandoned
    yield* unwrap(adapter.blobs.remove(sha256, new Date(Date.now() - age)))
  }
  const after = unused.size > 0 ? yield* listed(adapter) : before
  const recent = [...unused].filter((sha256) => after.has(sha256)).length
  return { contents: unused.size - recent, recent }
}

const listed = (adapter: EventStore): Fallible<StoreError, ReadonlySet<string>> =>
  catchTyped<StoreError, ReadonlySet<string>>(async () => {
    const hashes = new Set<string>()
    for await (const { sha256 } of adapter.blobs.list()) hashes.add(sha256)
    return hashes
  })
