import type { EventStore } from '../../../src/store/port.ts'
import { event } from '../../../src/testing/contract/support.ts'
import { right } from '../either.ts'

/** Follows a store until it has had so many events; their ids, in order. */
export const followed = async (
  store: EventStore,
  count: number,
  after?: string,
): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const item of store.follow({ ...(after !== undefined && { after }) })) {
    if (item.type === 'event') ids.push(item.event.id)
    if (ids.length === count) break
  }
  return ids
}

/** Appends so many events with each store at once, to a stream of its own; their ids. */
export const writtenAtOnce = async (
  writers: readonly EventStore[],
  each: number,
): Promise<readonly string[]> => {
  const written = await Promise.all(
    writers.map(async (store, writer) => {
      const ids: string[] = []
      for (let n = 0; n < each; n++) {
        // Of different sizes, so that they end in another order than they began.
        const one = event('x'.repeat(((n + writer) % 7) * 3_000))
        ids.push(one.id)
        right(await store.append({ stream: `w${writer}`, events: [one], expected: n - 1 })())
      }
      return ids
    }),
  )
  return written.flat()
}
