import { createLruCache } from '../../store/lru.ts'
import type { Clock } from './clock.ts'
import type { WorkBoard } from './work-board.ts'

/** Conversations whose claim has failed: they are left alone until the reason is known, or for a moment. */
export interface Refusals {
  /** @param seen the last revision of the conversation's turns known when the claim was made */
  readonly add: (conversation: string, seen: number | undefined) => void
  readonly has: (conversation: string) => boolean
  /**
   * Reports whether a claim has failed for this conversation while none of its turns were known: there are some that this worker has
   * not received.
   */
  readonly wasBlind: (conversation: string) => boolean
  /** Returns the earliest time when one of them may be tried again; Infinity if all may be tried now. */
  readonly earliest: () => number
}

/** Number of conversations for which this is remembered: each costs one more read. */
const mostBlind = 1_000

export const refusals = ({ turnsAt }: WorkBoard, clock: Clock, patience: number): Refusals => {
  const refused = new Map<string, { readonly seen: number | undefined; readonly until: number }>()
  const blind = createLruCache<true>(mostBlind)
  return {
    add: (conversation, seen) => {
      refused.set(conversation, { seen, until: clock.now() + patience })
      if (seen === undefined) blind.set(conversation, true)
    },
    wasBlind: (conversation) => blind.get(conversation) === true,
    has: (conversation) => {
      const { seen, until = -Infinity } = refused.get(conversation) ?? {}
      if (clock.now() < until && turnsAt(conversation) === seen) return true
      refused.delete(conversation)
      return false
    },
    earliest: () => {
      let earliest = Infinity
      for (const [conversation, { until }] of refused) {
        if (until > clock.now()) earliest = Math.min(earliest, until)
        else refused.delete(conversation)
      }
      return earliest
    },
  }
}
