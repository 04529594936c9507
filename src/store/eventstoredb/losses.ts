import type { Fallible } from '../../result/fallible.ts'
import { createLruCache } from '../lru.ts'
import type { StoreError } from '../errors.ts'
import type { ServerEvent } from './responses.ts'
import type { Reads } from './reads.ts'

// A writer that remembers the end of a stream appends without reading the stream, and the server continues the revisions of a stream
// whose events it has dropped. So if nothing of the stream was read for a while, the stream's metadata, which is small and reveals such
// a loss, is read before an append. A subscription to all metadata would report a loss at once, but the server would have to filter
// every event for every process, and only administrators may open it. A read before each append would cost more than the append.

/** Time after which a stream's metadata is checked again, in milliseconds. */
const freshness = 1_000
/** Maximum number of streams remembered: more than the number of streams whose ends are remembered. */
const most = 20_000

export interface Losses {
  /**
   * Checks a stream before an append. Fails with `HistoryLost` if the stream's metadata sets a limit and the stream's first event is
   * gone.
   */
  readonly check: (stream: string) => Fallible<StoreError, void>
  /** Records whether a read found that the stream has lost events. */
  readonly seen: (stream: string, isLost: boolean) => void
}

interface Known {
  /** Time of the check, on this process's monotonic clock. */
  readonly at: number
  /** True if the database may drop events of the stream, or has dropped some. */
  readonly isLimited: Promise<boolean>
}

export const losses = (reads: Reads): Losses => {
  const streams = createLruCache<Known>(most)
  const isFresh = ({ at }: Known): boolean => performance.now() - at < freshness
  const note = (stream: string, isLimited: Promise<boolean>): Known => {
    const known = { at: performance.now(), isLimited }
    streams.set(stream, known)
    return known
  }
  const look = (stream: string): Promise<boolean> =>
    reads.settings(stream).then(
      (settings) => settings !== undefined && trapIn(settings) !== undefined,
      // A failed check counts as no limit, also for a user who may not read the metadata. A later check finds any loss that this one
      // misses.
      () => false,
    )
  return {
    check: async function* (stream): Fallible<StoreError, void> {
      const known = streams.get(stream)
      const { isLimited } = known && isFresh(known) ? known : note(stream, look(stream))
      if (await isLimited) yield* reads.range({ stream, from: 0, direction: 'forwards', limit: 1 })
    },
    // A later read may return only events that still exist, so its success proves nothing.
    seen: (stream, isLost) => {
      if (isLost || !streams.get(stream)) note(stream, Promise.resolve(isLost))
    },
  }
}

/** Returns the limits in a stream's metadata that make the database drop events; undefined if the metadata sets no such limit. */
export const trapIn = ({ data }: ServerEvent): string | undefined => {
  const limits = [
    ...Buffer.from(data)
      .toString()
      .matchAll(/"(\$maxCount|\$maxAge|\$tb)"\s*:\s*(\d+)/g),
  ]
  // The server marks a deleted stream with the largest possible revision.
  if (limits.some(([, name, value]) => name === '$tb' && value === String(2n ** 63n - 1n))) return 'deleted'
  return limits.length === 0 ? undefined : limits.map(([, name, value]) => `${name} ${value}`).join(', ')
}
