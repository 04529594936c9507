import type { ConversationHandle } from '../../conversation/conversation.ts'
import { leaveReason } from '../models/abort.ts'
import type { AttemptOutcome } from './outcome.ts'

/** Report on an attempt that has ended. */
export interface AttemptReport {
  readonly conversation: string
  readonly attempt: number
  readonly outcome: AttemptOutcome['reason'] | 'lost'
  readonly ms: number
  readonly error?: string
}

/** A worker's activity on a conversation, from the claim until the board shows that the activity has ended. */
export interface Run {
  readonly conversation: string
  readonly chat: ConversationHandle
  /** Number of the attempt at the run's first step. */
  readonly attempt: number
  /** True if the run may kill its worker: the worker then begins nothing else at the same time. */
  readonly isAlone: boolean
  /** Controller that aborts the run's turn. */
  readonly ends: AbortController
  /** Revision of the run's claim, once it is recorded. */
  claimed?: number | undefined
  /** True if another worker has taken over the conversation. */
  isLost: boolean
  /** True if the model has finished, so that the run's slot is free. */
  isOver: boolean
}

/** Runs by conversation. */
export type Runs = Map<string, Run>

/** Callbacks through which a run informs its worker. */
export interface Signals {
  readonly claimed: (run: Run) => void
  readonly ended: (run: Run, step: AttemptReport) => void
  /** Called when the run's slot is free; the worker may still hold the conversation. */
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

/** Reports whether one of the runs prevents the worker from beginning anything else at the same time. */
export const isAlone = (runs: Runs): boolean => runs.values().some((its) => its.isAlone && !its.isOver)

/** Aborts the turns of all runs. */
export const endAll = (runs: Runs, why: string): void => {
  for (const { ends } of runs.values()) ends.abort(leaveReason(why))
}
