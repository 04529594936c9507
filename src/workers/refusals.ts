import type { Clock } from './clock.ts'
import type { Known } from './known.ts'

/** Conversations whose claim has failed: they are left alone until what was the reason is known, or for a moment. */
export interface Refusals {
  /** @param seen the last revision of the conversation's turns that was known when the claim was made */
  readonly add: (conversation: string, seen: number | undefined) => void
  readonly has: (conversation: string) => boolean
  /** When the first of them may be tried again; Infinity if that is so of all. */
  readonly earliest: () => number
}

export const refusals = ({ turnsAt }: Known, clock: Clock, patience: number): Refusals => {
  const refused = new Map<string, { readonly seen: number | undefined; readonly until: number }>()
  return {
    add: (conversation, seen) => void refused.set(conversation, { seen, until: clock.now() + patience }),
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
