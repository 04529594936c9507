import type { ConversationEvent } from '../../events/events.ts'
import { type Effective, evolved } from '../../projections/effective.ts'

/**
 * The effective history at positions that mostly ascend, while the events of the log pass by: continues from the last one, and loads it
 * again only after a jump.
 *
 * @param contextAt loads it
 */
export const historyOf = (contextAt: (position: number) => Promise<Effective>) => {
  let known: Effective | undefined
  /** Events that have passed since. */
  let since: ConversationEvent[] = []
  let last = -1
  return {
    pass: (event: ConversationEvent): void => {
      last = event.position
      if (known) since.push(event)
    },
    /** At a position that has passed. Throws what `contextAt` throws. */
    at: async (position: number): Promise<Effective> => {
      if (known && position >= known.at) {
        const next = evolved(
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
