import type { Checkpoint as StorePlace } from '../../store/port.ts'
import type { ChainHead } from './moved-streams.ts'

/** Limits at which a conversation that was written to is sealed: the first one reached. */
export interface SealPolicy {
  /** Milliseconds without an event. */
  readonly quiet: number
  /** Number of events since it was last sealed. */
  readonly events: number
  /** Milliseconds since its first unsealed event. */
  readonly longest: number
}

/** A conversation that was written to since it was last sealed. */
export interface PendingSeal extends ChainHead {
  /** Place from which the store was being read when the conversation was first seen: reading from there finds it again. */
  readonly since: StorePlace | undefined
  /** Its revision when it was first seen. */
  readonly from: number
  /** Times at which it was first seen and last had a new event, in milliseconds. */
  readonly first: number
  readonly last: number
}

/** Returns the state of a conversation after a look at it. */
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
