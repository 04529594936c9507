import * as E from 'fp-ts/lib/Either.js'
import { endsStream } from './pages.ts'
import { type EventStore, type StreamRange, type RecordedEvent, streamPage } from './port.ts'

/**
 * Returns the given streams that were certainly never begun; empty if the store cannot tell, in which case the streams must be read.
 */
export const neverBegun = async (
  store: Pick<EventStore, 'neverBegun'>,
  streams: readonly string[],
): Promise<ReadonlySet<string>> => {
  const told = await store.neverBegun?.(streams)()
  return told && E.isRight(told) ? told.right : new Set()
}

/** First page of a stream; `isWhole` is true if it contains the whole stream. */
interface Beginning {
  readonly events: readonly RecordedEvent[]
  readonly isWhole: boolean
}

/** Names of the streams to read. Streams in `optional` often do not exist. */
interface Streams {
  readonly own: string
  readonly optional: readonly string[]
}

/**
 * Returns a store that reads the first page of the given streams only once. Meant for work that reads the beginning, the end and all
 * events of these streams, most of which are no longer than a page. The returned store does not see events written to these streams in
 * the meantime, so use it only for the duration of the work.
 */
export const shortStreams = (store: EventStore, { own, optional }: Streams): EventStore => {
  const begun = new Map<string, Promise<Beginning | undefined>>()
  let absent: Promise<ReadonlySet<string>> | undefined
  /** Reads the first page of a stream; returns undefined if the page cannot be read. */
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

/**
 * Returns the events of a range that are on the first page; undefined if the range starts after that page and the stream may continue
 * there.
 */
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
