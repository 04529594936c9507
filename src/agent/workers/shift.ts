import type * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { Actor } from '../../events/events.ts'
import type { ReadError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import type { TurnResult, TurnError } from '../turn/turn-result.ts'
import { type Capacity, fullCapacity } from './capacity.ts'
import { type Chats, chatsOf } from './chats.ts'
import type { Clock } from './clock.ts'
import { type WorkBoard, createWorkBoard } from './work-board.ts'
import { type ClaimDelay, paceFrom } from './pace.ts'
import type { WorkPolicy } from './policy.ts'
import { type Refusals, refusals } from './refusals.ts'
import type { Runs, AttemptReport } from './runs.ts'
import { type ConditionWaiter, watch } from './watch.ts'
import { workerParty } from './worker-party.ts'

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
  readonly give: (chat: ConversationHandle, signal: AbortSignal) => Promise<E.Either<TurnError, TurnResult>>
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
  readonly runs: Runs
  readonly chats: Chats
  readonly refused: Refusals
  readonly pace: ClaimDelay
  capacity: Capacity
  readonly watch: ConditionWaiter
  /** Signal that aborts when the worker has ended: from then on, nothing is awaited. */
  readonly over: AbortSignal
}

export const isStandby = ({ settings: { standby } }: Pick<Shift, 'settings'>): boolean =>
  standby?.aborted === false

/** Milliseconds that a worker waits to receive its own writes, or the event that made its claim fail. */
export const patience = 1_000

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
      return { ...chat, party: workerParty(chat.party, worker) }
    }),
    refused: refusals(known, around.clock, patience),
    pace: paceFrom(settings.rankWait),
    capacity: fullCapacity(settings.slots),
    watch: watch(around.clock, over),
    over,
  }
}
