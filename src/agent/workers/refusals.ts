import { remembered } from '../../store/lru.ts'
import type { Clock } from './clock.ts'
import type { WorkBoard } from './known.ts'

/** Conversations whose claim has failed: they are left alone until what was the reason is known, or for a moment. */
export interface Refusals {
  /** @param seen the last revision of the conversation's turns that was known when the claim was made */
  readonly add: (conversation: string, seen: number | undefined) => void
  readonly has: (conversation: string) => boolean
  /** Whether that has happened to one of which no turns were known: there are some that this worker has not received. */
  readonly wasBlind: (conversation: string) => boolean
  /** When the first of them may be tried again; Infinity if that is so of all. */
  readonly earliest: () => number
}

/** Of so many this is remembered: each costs one more read. */
const mostBlind = 1_000

export const refusals = ({ turnsAt }: WorkBoard, clock: Clock, patience: number): Refusals => {
  const refused = new Map<string, { readonly seen: number | undefined; readonly until: number }>()
  const blind = remembered<true>(mostBlind)
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
