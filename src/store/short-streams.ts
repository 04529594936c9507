import * as E from 'fp-ts/lib/Either.js'
import { endsStream } from './pages.ts'
import { type EventStore, type StreamRange, type RecordedEvent, streamPage } from './port.ts'

/** Returns those of these streams that certainly were never begun; empty if the store does not or cannot tell: then they must be read. */
export const neverBegun = async (
  store: Pick<EventStore, 'neverBegun'>,
  streams: readonly string[],
): Promise<ReadonlySet<string>> => {
  const told = await store.neverBegun?.(streams)()
  return told && E.isRight(told) ? told.right : new Set()
}

/** The first page of a stream. */
interface Beginning {
  readonly events: readonly RecordedEvent[]
  readonly isWhole: boolean
}

/** The streams to read. `optional`: streams that often do not exist. */
interface Streams {
  readonly own: string
  readonly optional: readonly string[]
}

/**
 * Returns a store that reads the first page of these streams only once, for work that reads their beginning, their end and all of them:
 * most streams are no longer than a page. It does not see what is written to them in the meantime, so do not keep it longer than the
 * work takes.
 */
export const shortStreams = (store: EventStore, { own, optional }: Streams): EventStore => {
  const begun = new Map<string, Promise<Beginning | undefined>>()
  let absent: Promise<ReadonlySet<string>> | undefined
  /** Reads the first page of a stream; undefined if it cannot be read this way. */
  const beginningOf = async (stream: string): Promise<Beginning | undefined> => {
    const page = await store.read({ stream, from: 0, direction: 'forwards', limit: streamPage })()
    if (E.isLeft(page)) return undefined
    return { events: page.right, isWhole: endsStream(page.right, streamPage) }
  }
  return {
    ...store,
    read: (range) => async () => {
      const { stream } = range
      const isOptional = optional.includes(stream)
      if (stream !== own && !isOptional) return store.read(range)()
      if (isOptional && (await (absent ??= neverBegun(store, optional))).has(stream)) return E.right([])
      const beginning = begun.get(stream) ?? beginningOf(stream)
      begun.set(stream, beginning)
      const known = partOf(await beginning, range)
      return known ? E.right(known) : store.read(range)()
    },
  }
}

/** Returns the events of a range that are in the first page; undefined if there are none and some may come after it. */
const partOf = (
  beginning: Beginning | undefined,
  { from, direction, limit }: StreamRange,
): readonly RecordedEvent[] | undefined => {
  if (!beginning) return undefined
  const { events, isWhole } = beginning
  if (!isWhole && from >= events.length) return undefined
  return direction === 'forwards'
    ? events.slice(from, from + limit)
    : events
        .slice(0, from + 1)
        .slice(-limit)
        .toReversed()
}
