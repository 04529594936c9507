import { isEventType } from '../../events/codec.ts'
import type { Event, EventType } from '../../events/events.ts'
import { type ChainEnd, lastPosition } from './ends.ts'

/** Where a conversation stands, as far as that is known without a look at the store. */
export interface HeadState {
  /** The position that it stands at. */
  readonly head?: number | undefined
  /** The position that it stood at before the last event. */
  readonly headBefore?: number | undefined
  /** The type of the last event. */
  readonly lastType?: EventType | undefined
}

/** What is remembered of a conversation's end by who wrote or read it. */
export interface StreamHead extends ChainEnd, HeadState {}

/**
 * The end once these events have come after it.
 *
 * @param resolved the head that the last of them leads to, if that is a rewind and its head is known
 */
export const knownAfter = (
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

/** What the last event alone tells. */
export const knownFrom = (end: ChainEnd, type: string | undefined): StreamHead =>
  type !== undefined && isEventType(type)
    ? { ...end, lastType: type, head: type === 'Rewound' ? undefined : lastPosition(end) }
    : end

/** Whether an end that was read can be of the same events as one that is remembered: streams only grow. */
export const continues = ({ revision, hash }: ChainEnd, before: ChainEnd): boolean =>
  revision > before.revision || (revision === before.revision && hash === before.hash)
