import type { Checkpoint as StorePlace } from '../../store/port.ts'
import type { ChainHead } from './moved-streams.ts'

/** Limits for sealing a changed conversation, which is sealed when the first limit is reached. */
export interface SealPolicy {
  /** Milliseconds without an event after which a conversation is sealed. */
  readonly quiet: number
  /** Number of unsealed events at which a conversation is sealed. */
  readonly events: number
  /** Milliseconds from a conversation's first unsealed event until the conversation is sealed. */
  readonly longest: number
}

/** A stream that was written to since it was last sealed. */
export interface PendingSeal extends ChainHead {
  /** Place from which the store was read when the stream's change was first seen. Reading from this place finds the stream again. */
  readonly since: StorePlace | undefined
  /** Revision of the stream at the time when it was first seen to have changed. */
  readonly from: number
  /** Times at which the change was first seen and the last new event was seen, in milliseconds since 1970. */
  readonly first: number
  readonly last: number
}

/** Returns the pending seal of a stream, updated with its current head. */
export const stateAfterLook = (
  before: PendingSeal | undefined,
  head: ChainHead,
  now: number,
  since: StorePlace | undefined,
): PendingSeal => {
  if (!before) return { ...head, from: head.revision, first: now, last: now, since }
  return { ...before, ...head, last: before.revision === head.revision ? before.last : now }
}

export const isDue = ({ revision, from, first, last }: PendingSeal, now: number, pace: SealPolicy): boolean =>
  now - last >= pace.quiet || revision - from + 1 >= pace.events || now - first >= pace.longest
