import { isEventType } from '../../events/codec.ts'
import type { Event, EventType } from '../../events/events.ts'
import { type ChainEnd, lastPosition } from './ends.ts'

/** The head of a conversation, as far as it is known without reading the store. */
export interface HeadState {
  /** Position of the current head. */
  readonly head?: number | undefined
  /** Position of the head before the last event. */
  readonly headBefore?: number | undefined
  readonly lastType?: EventType | undefined
}

/** The end of a conversation as remembered from the last write or read. */
export interface StreamHead extends ChainEnd, HeadState {}

/**
 * Returns the end of a conversation after these events have been appended.
 *
 * @param resolved the head after the last event, if that event is a rewind and the head it leads to is known
 */
export const headAfter = (
  known: StreamHead,
  events: readonly Event[],
  hash: string | null,
  resolved?: number,
): StreamHead => {
  const { lineage, revision } = known
  const last = lastPosition(known)
  let { head, headBefore, lastType } = known
  for (const [index, event] of events.entries()) {
    headBefore = head
    lastType = event.type
    if (event.type !== 'Rewound') head = last + 1 + index
    // A branch beside the path ends with the way back.
    else head = event.data.to === last ? known.head : resolved
  }
  return { lineage, revision: revision + events.length, hash, head, headBefore, lastType }
}

/**
 * Returns the end of a conversation with the type of its last event and its head. The head is undefined after a rewind, because the
 * last event alone does not determine it.
 */
export const headFrom = (end: ChainEnd, type: string | undefined): StreamHead =>
  type !== undefined && isEventType(type)
    ? { ...end, lastType: type, head: type === 'Rewound' ? undefined : lastPosition(end) }
    : end

/**
 * Reports whether a newly read end is consistent with a remembered one, given that streams only grow: it has a higher revision, or the
 * same revision and hash.
 */
export const continues = ({ revision, hash }: ChainEnd, before: ChainEnd): boolean =>
  revision > before.revision || (revision === before.revision && hash === before.hash)
