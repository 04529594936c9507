import type { Steps } from '../../result/steps.ts'
import { remembered } from '../lru.ts'
import type { StoreError } from '../errors.ts'
import type { ServerEvent } from './responses.ts'
import type { Reads } from './reads.ts'

// A writer that remembers where a stream ends appends without reading it, and the server continues to number a stream whose events it
// has dropped. So the stream's metadata, which are small and show this, are read alongside an append every now and then: that append
// does not wait, and the next one knows. A subscription to all metadata would tell at once, but makes the server filter every event for
// every process, and only administrators may open it; a read with each append costs more than the append.

/** The age at which what is known of a stream is read again, in milliseconds. */
const freshness = 1_000
/** How many streams are remembered: more than those whose ends are. */
const most = 20_000

export interface Losses {
  /** Before an append: `HistoryLost` if a look has noticed a limit and the stream's first event is gone. */
  readonly check: (stream: string) => Steps<StoreError, void>
  /** Alongside an append. Never fails: what this look misses, a later one finds. */
  readonly look: (stream: string) => Promise<void>
}

interface Known {
  /** As of when, on this process's monotonic clock. */
  readonly at: number
  /** Whether the database may drop events of the stream, or has. */
  readonly isLimited: boolean
}

export const losses = (reads: Reads): Losses => {
  const streams = remembered<Known>(most)
  return {
    check: async function* (stream): Steps<StoreError, void> {
      if (streams.get(stream)?.isLimited)
        yield* reads.range({ stream, from: 0, direction: 'forwards', limit: 1 })
    },
    look: async (stream) => {
      const at = performance.now()
      const known = streams.get(stream)
      if (known && at - known.at < freshness) return
      streams.set(stream, { at, isLimited: known?.isLimited ?? false })
      // Before its first append to a stream, a writer has just read it.
      if (!known) return
      try {
        const settings = await reads.settings(stream)
        streams.set(stream, { at, isLimited: settings !== undefined && trapIn(settings) !== undefined })
      } catch {
        // A later look will find out.
      }
    },
  }
}

/** The limits in a stream's metadata that make the database drop events; undefined without any. */
export const trapIn = ({ data }: ServerEvent): string | undefined => {
  const limits = [
    ...Buffer.from(data)
      .toString()
      .matchAll(/"(\$maxCount|\$maxAge|\$tb)"\s*:\s*(\d+)/g),
  ]
  // The largest possible revision: how the server marks a deleted stream.
  if (limits.some(([, name, value]) => name === '$tb' && value === String(2n ** 63n - 1n))) return 'deleted'
  return limits.length === 0 ? undefined : limits.map(([, name, value]) => `${name} ${value}`).join(', ')
}
