import { isMarker } from '../../events/event-traits.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { type Effective, sliceOf } from '../../projections/effective.ts'

/** A summary that was made from withheld events and may repeat their content. */
export interface TaintedSummary {
  readonly position: number
  /** Positions of the summarized items that are withheld or were made from withheld events. */
  readonly of: readonly number[]
}

/**
 * Returns a function that recognizes summaries made from withheld events, directly or through other summaries and truncations. Covers
 * all branches.
 *
 * @param before returns the effective history right before a marker
 */
export const createTaintFinder = (withheld: ReadonlySet<number>) => {
  const reached = new Set(withheld)
  return async (
    event: ConversationEvent,
    before: (position: number) => Promise<Effective>,
  ): Promise<TaintedSummary | undefined> => {
    if (!isMarker(event) || reached.size === 0) return undefined
    const { position, data } = event
    const slice = sliceOf(await before(position - 1), data.covers)
    const of = slice.map((item) => item.position).filter((at) => reached.has(at))
    if (of.length === 0) return undefined
    reached.add(position)
    return event.type === 'Condensed' && !withheld.has(position) ? { position, of } : undefined
  }
}
