import type { Conversation } from '../../conversation/conversation.ts'
import { leftToOthers } from '../models/aborted.ts'
import type { AttemptOutcome } from './outcome.ts'

/** An attempt that has ended. */
export interface AttemptReport {
  readonly conversation: string
  readonly attempt: number
  readonly outcome: AttemptOutcome['reason'] | 'lost'
  readonly ms: number
  readonly error?: string
}

/** What a worker does about a conversation, from the claim until what it knows has followed. */
export interface Run {
  readonly conversation: string
  readonly chat: Conversation
  /** Of the step that it began with. */
  readonly attempt: number
  /** Workers may die of it: nothing else is begun beside it. */
  readonly isAlone: boolean
  /** Ends its turn. */
  readonly ends: AbortController
  /** The revision of its claim, once it is recorded. */
  claimed?: number | undefined
  /** Another has the conversation. */
  isLost: boolean
  /** The model has finished: its slot is free. */
  isOver: boolean
}

/** By conversation. */
export type Runs = Map<string, Run>

/** What happens in a run, told to the worker as it happens. */
export interface Signals {
  readonly claimed: (run: Run) => void
  readonly ended: (run: Run, step: AttemptReport) => void
  /** Its slot is free; its conversation may not be yet. */
  readonly freed: (run: Run) => void
}

export const newRun = (chat: Conversation, attempt: number, isAlone = false): Run => ({
  conversation: chat.id,
  chat,
  attempt,
  isAlone,
  ends: new AbortController(),
  isLost: false,
  isOver: false,
})

/** How many slots are taken. */
export const busyIn = (runs: Runs): number => [...runs.values()].filter(({ isOver }) => !isOver).length

/** Whether nothing may be begun beside one of them. */
export const isAlone = (runs: Runs): boolean => runs.values().some((its) => its.isAlone && !its.isOver)

/** Ends the turns of all runs. */
export const endAll = (runs: Runs, why: string): void => {
  for (const { ends } of runs.values()) ends.abort(leftToOthers(why))
}
