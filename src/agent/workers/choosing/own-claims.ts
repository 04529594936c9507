import { createLruCache } from '../../../store/lru.ts'
import type { Clock } from '../peers/clock.ts'
import type { WorkBoard } from '../board/work-board.ts'

/** Conversations that this worker failed to claim. They are not tried again until the reason is known or a short time has passed. */
export interface Refusals {
  /**
   * Adds a conversation after a failed claim.
   *
   * @param seen last revision of the conversation's log of turns known when the claim was made
   */
  readonly add: (conversation: string, seen: number | undefined) => void
  readonly has: (conversation: string) => boolean
  /**
   * Reports whether a claim for this conversation has failed while this worker knew no event of its log of turns: the log then contains
   * events that the worker has not received.
   */
  readonly wasBlind: (conversation: string) => boolean
  /** Returns the earliest time at which one of these conversations may be tried again; Infinity if all may be tried now. */
  readonly earliest: () => number
}

/** Maximum number of conversations for which `wasBlind` is remembered. Each of them costs an additional read when it is claimed. */
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

/**
 * Delay in milliseconds before claiming a step that other workers should claim first. It is derived from the durations of recent
 * claims.
 */
export interface ClaimDelay {
  /** Updates the average with the duration of a claim. */
  readonly claimed: (ms: number) => void
  readonly wait: () => number
}

const longest = 300
/**
 * Number of claim durations to wait. In this time the other workers notice the step and record a claim, and this worker receives the
 * claim.
 */
const claims = 4
/** Weight of the newest claim in the average. */
const share = 0.2

export const paceFrom = (shortest: number): ClaimDelay => {
  let usual = shortest / claims
  return {
    claimed: (ms) => {
      usual += (ms - usual) * share
    },
    wait: () => Math.min(Math.max(usual * claims, shortest), longest),
  }
}
