import * as E from 'fp-ts/lib/Either.js'
import { endsStream } from './pages.ts'
import { type EventStore, type StreamRange, type RecordedEvent, streamPage } from './port.ts'

/** Those of these streams that certainly were never begun; none where the store does not tell, or cannot: then they are to be read. */
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

/** Streams to look at. `optional`: those that often are not there. */
interface Streams {
  readonly own: string
  readonly optional: readonly string[]
}

/**
 * A store that reads the first page of these streams once, for work that looks at the beginning, the end and all of them: most streams
 * are no longer than that. What is written meanwhile is not seen in them: not to be kept longer than the work takes.
 */
export const shortStreams = (store: EventStore, { own, optional }: Streams): EventStore => {
  const begun = new Map<string, Promise<Beginning | undefined>>()
  let absent: Promise<ReadonlySet<string>> | undefined
  /** Undefined if the page cannot be read so. */
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

/** The events in a range, as far as they are in the first page; undefined if none is, and some may be after it. */
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
