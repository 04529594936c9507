import type { ConversationEvent } from '../../events/events.ts'
import { type Effective, evolveEffective } from '../../projections/effective.ts'

/**
 * Tracks the effective history while the events of a log are read. Positions are expected in mostly ascending order: each history is
 * derived from the previous one, and reloaded only after a jump.
 *
 * @param contextAt loads the effective history at a position
 */
export const historyOf = (contextAt: (position: number) => Promise<Effective>) => {
  let known: Effective | undefined
  /** Events passed after the history in `known`. */
  let since: ConversationEvent[] = []
  let last = -1
  return {
    pass: (event: ConversationEvent): void => {
      last = event.position
      if (known) since.push(event)
    },
    /** Returns the effective history at a position that was already passed. Throws the errors of `contextAt`. */
    at: async (position: number): Promise<Effective> => {
      if (known && position >= known.at) {
        const next = evolveEffective(
          known,
          since.filter((event) => event.position <= position),
        )
        // Undefined after a jump.
        if (next) {
          known = next
          since = since.filter((event) => event.position > position)
          return next
        }
      }
      const loaded = await contextAt(position)
      if (position === last) {
        known = loaded
        since = []
      }
      return loaded
    },
  }
}
