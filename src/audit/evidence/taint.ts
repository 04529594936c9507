import { isMarker } from '../../events/event-traits.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { type Effective, sliceOf } from '../../projections/effective.ts'

/** A summary that was made of what is withheld: it may repeat it. */
export interface TaintedSummary {
  readonly position: number
  /** Which of what it hides is withheld, or a summary of that. */
  readonly of: readonly number[]
}

/**
 * Finds the summaries that were made, on any branch, of what is withheld, or of such a summary; truncations between them pass it on.
 *
 * @param before the effective history right before a marker
 */
export const tainting = (withheld: ReadonlySet<number>) => {
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
