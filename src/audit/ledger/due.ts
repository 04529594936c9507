import type { Checkpoint as StorePlace } from '../../store/port.ts'
import type { ChainHead } from './moved.ts'

/** When a conversation that was written to is sealed: whichever comes first. */
export interface SealPolicy {
  /** Milliseconds without an event. */
  readonly quiet: number
  /** Events since it was sealed. */
  readonly events: number
  /** Milliseconds since its first event that is not sealed. */
  readonly longest: number
}

/** A conversation that was written to since it was sealed. */
export interface PendingSeal extends ChainHead {
  /** The place that the store was read from when it was first seen: who begins there sees it again. */
  readonly since: StorePlace | undefined
  /** Its revision then. */
  readonly from: number
  /** When it was first seen, and when it last had a new event, in milliseconds. */
  readonly first: number
  readonly last: number
}

/** What is known of a conversation after it was looked at. */
export const looked = (
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
