import type * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../../conversation/conversation.ts'
import type { Actor } from '../../events/events.ts'
import type { ReadError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import type { TurnResult, TurnError } from '../turn/turned.ts'
import { type Capacity, fullCapacity } from './capacity.ts'
import { type Chats, chatsOf } from './chats.ts'
import type { Clock } from './clock.ts'
import { type WorkBoard, knownBy } from './known.ts'
import { type ClaimDelay, paceFrom } from './pace.ts'
import type { WorkPolicy } from './policy.ts'
import { type Refusals, refusals } from './refusals.ts'
import type { Runs, AttemptReport } from './runs.ts'
import { type ConditionWaiter, watch } from './watch.ts'
import { workerParty } from './worker-party.ts'

/** What a worker is and does; times in milliseconds. */
export interface WorkerSettings {
  readonly slots: number
  /** What the ids of its conversations begin with. */
  readonly conversations: readonly string[]
  readonly ttl: number
  /** The least time for which each worker that should be quicker is waited for. */
  readonly rankWait: number
  readonly grace: number
  /** After how many events it settles what it knows, at the earliest. */
  readonly settleAfter: number
  readonly policy?: WorkPolicy
  /** Whether whatever awaits the model is answered, and not only what somebody has asked for. */
  readonly answerAll?: boolean
  /** Until it aborts, the worker stands by: it only takes what others have died of, one step at a time. */
  readonly standby?: AbortSignal
  readonly give: (chat: Conversation, signal: AbortSignal) => Promise<E.Either<TurnError, TurnResult>>
  /** Begins to read what `give` needs, right before it, and of the inbox only if there may be something. @returns the last position */
  readonly begin: (chat: Conversation, hasMail: boolean) => Promise<E.Either<ReadError, number>>
  readonly onStep: (step: AttemptReport) => void
}

/** What a worker works on. */
export interface WorkerEnvironment {
  /** The adapter: workers need no large content. */
  readonly store: EventStore
  readonly actor: Actor
  readonly conversation: (id: string) => Conversation
  readonly clock: Clock
}

/** What the parts of a worker share, from its start to its end. */
export interface Shift {
  /** Its id. */
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
  /** The worker has ended: nothing is waited for any more. */
  readonly over: AbortSignal
}

export const isStandby = ({ settings: { standby } }: Pick<Shift, 'settings'>): boolean =>
  standby?.aborted === false

/** How long a worker waits for what it has written itself, or for what has made its claim fail. */
export const patience = 1_000

export const beginShift = (
  worker: string,
  settings: WorkerSettings,
  around: WorkerEnvironment,
  over: AbortSignal,
): Shift => {
  const { conversations, policy, answerAll } = settings
  const serves = (id: string): boolean => conversations.some((prefix) => id.startsWith(prefix))
  const known = knownBy(serves, policy, answerAll)
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
