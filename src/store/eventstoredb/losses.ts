import * as E from 'fp-ts/lib/Either.js'
import { remembered } from '../lru.ts'
import type { StoreError } from '../errors.ts'
import type { ServerEvent } from './messages.ts'
import type { Reads } from './reads.ts'

// Who remembers where a stream ends appends without reading it, and the server goes on numbering where it has dropped events. So the
// stream's metadata, which tell of that and are small, are read beside an append every now and then: it waits for nothing, and the next
// one knows. A subscription to all metadata would tell at once, but costs the server a filter over every event for every process, and
// may be opened by administrators only; a read beside each append costs more than the append.

/** How long what is known of a stream may be old, in milliseconds. */
const freshness = 1_000
/** Streams of which it is known: more than those whose ends are remembered. */
const most = 20_000

export interface Losses {
  /** Before an append: `HistoryLost` where the stream's first event is gone, as far as that was noticed. */
  readonly check: (stream: string) => Promise<E.Either<StoreError, void>>
  /** Beside an append. Never fails: what was not found out now a later look finds. */
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
    check: async (stream) =>
      streams.get(stream)?.isLimited
        ? E.map(() => undefined)(await reads.range({ stream, from: 0, direction: 'forwards', limit: 1 }))
        : E.right(undefined),
    look: async (stream) => {
      const at = performance.now()
      const known = streams.get(stream)
      if (known && at - known.at < freshness) return
      // Who appends for the first time has just read the stream.
      streams.set(stream, { at, isLimited: known?.isLimited ?? false })
      const settings = known ? await reads.settings(stream) : undefined
      if (!settings || E.isLeft(settings)) return
      const isLimited = settings.right !== undefined && trapIn(settings.right) !== undefined
      streams.set(stream, { at, isLimited })
    },
  }
}

/** What in a stream's metadata makes the database drop its events. */
export const trapIn = ({ data }: ServerEvent): string | undefined => {
  const limits = [
    ...Buffer.from(data)
      .toString()
      .matchAll(/"(\$maxCount|\$maxAge|\$tb)"\s*:\s*(\d+)/g),
  ]
  // The largest revision there is: how the server marks a stream as deleted.
  if (limits.some(([, name, value]) => name === '$tb' && value === String(2n ** 63n - 1n))) return 'deleted'
  return limits.length === 0 ? undefined : limits.map(([, name, value]) => `${name} ${value}`).join(', ')
}
