import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { Actor } from '../../../events/events.ts'
import { run, type Fallible } from '../../../result/fallible.ts'
import type { ReadError, WriteError } from '../../../store/errors.ts'
import type { EventStore } from '../../../store/port.ts'
import { leaveReason } from '../../models/abort.ts'
import type { TurnResult } from '../../turn/turn-result.ts'
import { isStoreGone } from '../board/feed.ts'
import { type WorkBoard, createWorkBoard } from '../board/work-board.ts'
import { type ClaimDelay, paceFrom, type Refusals, refusals } from '../choosing/own-claims.ts'
import type { WorkPolicy } from '../choosing/policy.ts'
import { type Clock, type ConditionWaiter, pause, watch } from '../peers/clock.ts'
import { type ChatCache, chatsOf, type GivenError } from './give.ts'
import { type AttemptOutcome, type WorkerCapacity, fullCapacity } from './outcome.ts'

/** Report on an attempt that has ended. */
export interface AttemptReport {
  readonly conversation: string
  readonly attempt: number
  readonly outcome: AttemptOutcome['reason'] | 'lost'
  readonly ms: number
  readonly error?: string
  /** Milliseconds until a worker may take the step again; absent if it is not known, or nothing is left to wait for. */
  readonly waitMs?: number
}

/** A worker's activity on a conversation, from the claim until the board shows that the activity has ended. */
export interface StepRun {
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
export type StepRuns = Map<string, StepRun>

export const newRun = (chat: ConversationHandle, attempt: number, isAlone = false): StepRun => ({
  conversation: chat.id,
  chat,
  attempt,
  isAlone,
  ends: new AbortController(),
  isLost: false,
  isOver: false,
})

/** Returns the number of slots in use. */
export const busyIn = (runs: StepRuns): number => [...runs.values()].filter(({ isOver }) => !isOver).length

/** Reports whether one of the runs prevents the worker from beginning anything else at the same time. */
export const isAlone = (runs: StepRuns): boolean => runs.values().some((its) => its.isAlone && !its.isOver)

/** Aborts the turns of all runs. */
export const endAll = (runs: StepRuns, why: string): void => {
  for (const { ends } of runs.values()) ends.abort(leaveReason(why))
}

/** Settings of a worker. Times are in milliseconds. */
export interface WorkerSettings {
  readonly slots: number
  /** Id prefixes of the conversations that the worker serves. */
  readonly conversations: readonly string[]
  readonly ttl: number
  /** Minimum wait for each worker that should take a step first. */
  readonly rankWait: number
  readonly grace: number
  /** Minimum number of events between two snapshots of the worker's board. */
  readonly settleAfter: number
  readonly policy?: WorkPolicy
  /** True to answer every conversation that awaits the model, not only requested ones. */
  readonly answerAll?: boolean
  /** Signal that ends standby. Until it aborts, the worker takes only steps during which other workers died, one at a time. */
  readonly standby?: AbortSignal
  readonly give: (chat: ConversationHandle, signal: AbortSignal) => Promise<E.Either<GivenError, TurnResult>>
  /**
   * Starts reading the history that `give` needs, right before `give` is called. The inbox is read only if it may contain messages.
   *
   * @returns the conversation's last position
   */
  readonly begin: (chat: ConversationHandle, hasMail: boolean) => Promise<E.Either<ReadError, number>>
  readonly onStep: (step: AttemptReport) => void
}

export interface WorkerEnvironment {
  /** Adapter of the store. Workers use it directly because they do not need large content. */
  readonly store: EventStore
  readonly actor: Actor
  readonly conversation: (id: string) => ConversationHandle
  readonly clock: Clock
}

/** State shared by the parts of a worker, from its start to its end. */
export interface Shift {
  readonly worker: string
  readonly settings: WorkerSettings
  readonly around: WorkerEnvironment
  readonly known: WorkBoard
  readonly runs: StepRuns
  readonly chats: ChatCache
  readonly refused: Refusals
  readonly pace: ClaimDelay
  capacity: WorkerCapacity
  /** Time since which no turn has reached the API, in milliseconds of the worker's clock; undefined if the last one has reached it. */
  unreachableSince: number | undefined
  readonly watch: ConditionWaiter
  /** Signal that aborts when the worker has ended: from then on, nothing is awaited. */
  readonly over: AbortSignal
}

export const isStandby = ({ settings: { standby } }: Pick<Shift, 'settings'>): boolean =>
  standby?.aborted === false

/** Milliseconds that a worker waits to receive its own writes, or the event that made its claim fail. */
export const patience = 1_000

/**
 * Repeats a write until the store answers. Gives up if the store is gone or the worker has ended.
 *
 * @param failed called after each failure
 * @returns true if the write succeeded
 */
export const retryWrite = async (
  { around: { clock }, over }: Shift,
  write: () => Fallible<WriteError, void>,
  failed = (): void => {},
): Promise<boolean> => {
  for (;;) {
    const written = await run(write())
    if (E.isRight(written)) return true
    if (isStoreGone(written) || over.aborted) return false
    failed()
    await pause(clock, patience, over)
  }
}

export const beginShift = (
  worker: string,
  settings: WorkerSettings,
  around: WorkerEnvironment,
  over: AbortSignal,
): Shift => {
  const { conversations, policy, answerAll } = settings
  const serves = (id: string): boolean => conversations.some((prefix) => id.startsWith(prefix))
  const known = createWorkBoard(serves, policy, answerAll)
  return {
    worker,
    settings,
    around,
    known,
    runs: new Map(),
    chats: chatsOf((id) => {
      const chat = around.conversation(id)
      // The worker makes claims, beats and liveness checks outside of its turns.
      return { ...chat, party: { ...chat.party, id: worker, isWorker: true, live: () => () => {} } }
    }),
    refused: refusals(known, around.clock, patience),
    pace: paceFrom(settings.rankWait),
    capacity: fullCapacity(settings.slots),
    unreachableSince: undefined,
    watch: watch(around.clock, over),
    over,
  }
}
