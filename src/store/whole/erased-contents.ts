import type { InvalidInput } from '../../events/errors.ts'
import { catchTyped, orThrow, unwrap, type Fallible } from '../../result/fallible.ts'
import { referencesOf } from '../blobs/cut.ts'
import { unreferencedAmong } from '../blobs/gc.ts'
import type { StoreError } from '../errors.ts'
import { isCut } from '../marks.ts'
import type { EventStore } from '../port.ts'

// The contents that erased events had outside them, in the store beneath the layers.

/** Time for which content may be stored before the event that refers to it is written, in milliseconds. */
const settling = 60_000

/** Returns the hashes of the contents that an event has outside it. */
export const contentsOf = async (
  adapter: EventStore,
  stream: string,
  from: number,
): Promise<readonly string[]> => {
  const [stored] = await orThrow(adapter.read({ stream, from, direction: 'forwards', limit: 1 }))
  return stored && isCut(stored) ? (referencesOf(stored) ?? []).map(({ sha256 }) => sha256) : []
}

/** Removes the contents to which no event refers any more. */
export async function* removeContents(
  adapter: EventStore,
  contents: ReadonlySet<string>,
): Fallible<StoreError | InvalidInput, { readonly contents: number; readonly recent: number }> {
  if (contents.size === 0) return { contents: 0, recent: 0 }
  const unused = yield* unreferencedAmong(adapter, contents)
  for (const sha256 of unused) yield* unwrap(adapter.blobs.remove(sha256, new Date(Date.now() - settling)))
  const left = yield* catchTyped<StoreError, number>(async () => {
    let count = 0
    for await (const { sha256 } of adapter.blobs.list()) if (unused.has(sha256)) count++
    return count
  })
  return { contents: unused.size - left, recent: left }
}
