import { remembered } from '../lru.ts'
import type { StreamRange } from '../port.ts'
import type { ServerEvent } from './responses.ts'

/** How long it is relied on that nobody else has begun a stream, in milliseconds. */
const freshness = 1_000
const most = 1_000

/** Streams that were just read and were not there. */
export interface Absent {
  /** Takes note of a read and what it found. */
  readonly seen: (range: StreamRange, found: readonly ServerEvent[]) => void
  readonly has: (stream: string) => boolean
}

export const absent = (): Absent => {
  const times = remembered<number>(most)
  return {
    seen: ({ stream, from, direction }, { length }) => {
      if (length === 0 && (from === 0 || direction === 'backwards')) times.set(stream, performance.now())
    },
    has: (stream) => performance.now() - (times.get(stream) ?? -Infinity) < freshness,
  }
}
