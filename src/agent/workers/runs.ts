import type { ConversationHandle } from '../../conversation/conversation.ts'
import { leaveReason } from '../models/abort.ts'
import type { AttemptOutcome } from './outcome.ts'

/** An attempt that has ended. */
export interface AttemptReport {
  readonly conversation: string
  readonly attempt: number
  readonly outcome: AttemptOutcome['reason'] | 'lost'
  readonly ms: number
  readonly error?: string
}

/** A worker's activity on a conversation, from the claim until the board includes its end. */
export interface Run {
  readonly conversation: string
  readonly chat: ConversationHandle
  /** Number of the attempt at the step that it began with. */
  readonly attempt: number
  /** True if workers may die of it: nothing else is begun at the same time. */
  readonly isAlone: boolean
  /** Aborts its turn. */
  readonly ends: AbortController
  /** Revision of its claim, once it is recorded. */
  claimed?: number | undefined
  /** True if another worker has the conversation. */
  isLost: boolean
  /** True if the model has finished: its slot is free. */
  isOver: boolean
}

/** Runs by conversation. */
export type Runs = Map<string, Run>

/** Callbacks through which a run informs its worker. */
export interface Signals {
  readonly claimed: (run: Run) => void
  readonly ended: (run: Run, step: AttemptReport) => void
  /** Called when its slot is free; its conversation may still be held. */
  readonly freed: (run: Run) => void
}

export const newRun = (chat: ConversationHandle, attempt: number, isAlone = false): Run => ({
  conversation: chat.id,
  chat,
  attempt,
  isAlone,
  ends: new AbortController(),
  isLost: false,
  isOver: false,
})

/** Returns the number of slots in use. */
export const busyIn = (runs: Runs): number => [...runs.values()].filter(({ isOver }) => !isOver).length

/** True if nothing else may be begun at the same time as one of them. */
export const isAlone = (runs: Runs): boolean => runs.values().some((its) => its.isAlone && !its.isOver)

/** Aborts the turns of all runs. */
export const endAll = (runs: Runs, why: string): void => {
  for (const { ends } of runs.values()) ends.abort(leaveReason(why))
}
