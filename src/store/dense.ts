import type { DecodeFailed } from '../events/errors.ts'
import type { StreamRange, RecordedEvent } from './port.ts'

/**
 * Returns the error for a lost event: a stream must have every revision from 0, but the store does not return this revision although it
 * has later ones.
 */
export const eventMissing = (stream: string, revision: number, found?: number): DecodeFailed => ({
  _tag: 'DecodeFailed',
  message: `event ${revision} of stream ${stream} cannot be read: the store returns ${found === undefined ? 'nothing' : `event ${found} in its place`}, although the stream has later ones. The database is damaged: restore a backup`,
  stream,
  revision,
})

/**
 * Returns the error for the first unexpected event of a page: wrong revision, wrong stream, or beyond the limit. Returns undefined if
 * all events are as expected. A backward page may begin anywhere at or before `from`.
 */
export const gapIn = (
  { stream, from, direction, limit }: StreamRange,
  events: readonly RecordedEvent[],
): DecodeFailed | undefined => {
  const isForwards = direction === 'forwards'
  const first = isForwards ? from : Math.min(from, events[0]?.revision ?? from)
  // A loop over indices, because every page read is checked here, and `entries` would create two objects for each event.
  for (let index = 0; index < events.length; index++) {
    const event = events[index] as RecordedEvent
    const revision = isForwards ? first + index : first - index
    if (event.revision !== revision || event.stream !== stream || index >= limit)
      return eventMissing(stream, Math.max(0, revision), event.revision)
  }
  return undefined
}
