import { createLruCache } from '../lru.ts'
import type { StreamRange } from '../port.ts'
import type { ServerEvent } from './responses.ts'

/** Time for which a stream found missing is assumed not to have been begun by another writer, in milliseconds. */
const freshness = 1_000
const most = 1_000

/** Cache of streams that did not exist when they were last read. */
export interface Absent {
  /** Records the result of a read. */
  readonly seen: (range: StreamRange, found: readonly ServerEvent[]) => void
  readonly has: (stream: string) => boolean
}

export const absent = (): Absent => {
  const times = createLruCache<number>(most)
  return {
    seen: ({ stream, from, direction }, { length }) => {
      if (length === 0 && (from === 0 || direction === 'backwards')) times.set(stream, performance.now())
    },
    has: (stream) => performance.now() - (times.get(stream) ?? -Infinity) < freshness,
  }
}
