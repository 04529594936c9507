import type { ConversationEvent } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { type RepeatedText, createRepeatFinder } from './repeats.ts'
import { type TaintedSummary, createTaintFinder } from './taint.ts'

/** Returns a collector of the summaries and events that still reveal withheld content. Pass it the events of a log one by one. */
export const stillTold = (hidden: readonly ConversationEvent[]) => {
  const taint = createTaintFinder(new Set(hidden.map(({ position }) => position)))
  const repeat = createRepeatFinder(hidden)
  const tainted: TaintedSummary[] = []
  const repeated: RepeatedText[] = []
  return {
    /**
     * Examines the next event of the log.
     *
     * @param before returns the effective history at a position
     */
    pass: async (
      event: ConversationEvent,
      before: (position: number) => Promise<Effective>,
    ): Promise<void> => {
      const made = await taint(event, before)
      if (made) tainted.push(made)
      const said = repeat(event)
      if (said) repeated.push(said)
    },
    told: () => ({ tainted, repeated }),
  }
}
