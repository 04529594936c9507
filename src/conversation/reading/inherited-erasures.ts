import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import { createLruCache } from '../../store/lru.ts'
import { type EventStore, maxPage } from '../../store/port.ts'
import type { Lineage } from './lineage.ts'

/** Maximum number of streams that are remembered. */
const mostStreams = 64

/**
 * Returns a function that names the last erasure in each conversation from which a fork has events. An erasure there leaves no event in
 * the fork, so a history of the fork that was remembered under another name has content that is gone. Only erasures since the first
 * call are named; for a conversation that is no fork, nothing is read.
 */
export const createErasureWatch = (store: Pick<EventStore, 'read'>) => {
  /** By stream: the last revision that was looked at, and the revision of the last erasure. */
  const known = createLruCache<{ readonly last: number; readonly erased: number }>(mostStreams)
  return async function* (lineage: Lineage): Fallible<StoreError, string> {
    const found: number[] = []
    for (const { stream } of lineage.slice(1)) {
      const range = { stream, from: Number.MAX_SAFE_INTEGER, direction: 'backwards', limit: 1 } as const
      const [{ revision: last } = { revision: -1 }] = yield* unwrap(store.read(range))
      const before = known.get(stream)
      let erased = before?.erased ?? -1
      for (let from = (before?.last ?? last) + 1; from <= last; from += maxPage) {
        const page = yield* unwrap(store.read({ stream, from, direction: 'forwards', limit: maxPage }))
        erased = page.findLast(({ type }) => type === 'Erased')?.revision ?? erased
      }
      known.set(stream, { last, erased })
      found.push(erased)
    }
    return found.join()
  }
}
