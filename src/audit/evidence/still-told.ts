import type { ConversationEvent } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { type RepeatedText, createRepeatFinder } from './repeats.ts'
import { type TaintedSummary, createTaintFinder } from './taint.ts'

/** Finds what still reveals withheld events, as the events of a log are passed in. */
export const stillTold = (hidden: readonly ConversationEvent[]) => {
  const taint = createTaintFinder(new Set(hidden.map(({ position }) => position)))
  const repeat = createRepeatFinder(hidden)
  const tainted: TaintedSummary[] = []
  const repeated: RepeatedText[] = []
  return {
    /** @param before the effective history right before the event */
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
