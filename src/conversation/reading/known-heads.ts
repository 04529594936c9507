import { isEventType } from '../../events/codec.ts'
import type { Event, EventType } from '../../events/events.ts'
import { type ChainEnd, lastPosition } from './ends.ts'

/** The head of a conversation, as far as known without reading the store. */
export interface HeadState {
  /** Current head. */
  readonly head?: number | undefined
  /** Head before the last event. */
  readonly headBefore?: number | undefined
  /** The type of the last event. */
  readonly lastType?: EventType | undefined
}

/** The remembered end of a conversation, from the last write or read. */
export interface StreamHead extends ChainEnd, HeadState {}

/**
 * Returns the end after these events were appended to it.
 *
 * @param resolved the head that the last event leads to, if that is a rewind and its head is known
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

/** Returns the head as far as the last event alone determines it. */
export const headFrom = (end: ChainEnd, type: string | undefined): StreamHead =>
  type !== undefined && isEventType(type)
    ? { ...end, lastType: type, head: type === 'Rewound' ? undefined : lastPosition(end) }
    : end

/** Reports whether an end that was read may extend or equal a remembered one: streams only grow. */
export const continues = ({ revision, hash }: ChainEnd, before: ChainEnd): boolean =>
  revision > before.revision || (revision === before.revision && hash === before.hash)
