import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { checkOptions, type OptionKinds, kinds } from '../../store/options.ts'
import type { TurnOptions } from '../turn/options.ts'
import { giveTurn, quietly, type ServedEvent, turningOf } from './give.ts'
import { checkPolicy, type WorkPolicy } from './policy.ts'
import type { AttemptReport } from './runs.ts'
import type { WorkerSettings } from './shift.ts'

/** A conversation that a worker serves. */
export interface ServedConversation<Chat> {
  readonly id: string
  readonly chat: Chat
}

/** Options of a worker. Times are in milliseconds. */
export interface WorkerOptions<Chat> {
  /** Returns the options of `turn` for a conversation. Called for each attempt. */
  readonly turn: (served: ServedConversation<Chat>) => TurnOptions | Promise<TurnOptions>
  /** Beginning of the worker's id in the log. Default `worker`. */
  readonly name?: string | undefined
  /** Number of conversations that the worker handles at once. Default 8. */
  readonly slots?: number | undefined
  /** Id prefixes of the conversations that the worker serves. Default: all conversations. */
  readonly conversations?: readonly string[] | undefined
  /** Called with each event of the worker's turns. Errors thrown by the function are ignored. */
  readonly onEvent?: ((served: ServedEvent) => void) | undefined
  /** Called with a report on each attempt that has ended. Errors thrown by the function are ignored. */
  readonly onStep?: ((step: AttemptReport) => void) | undefined
  /**
   * Milliseconds of silence after which a worker counts as dead and other workers take over its steps. Use the same value for all
   * workers. Default 10,000.
   */
  readonly ttl?: number | undefined
  /** Milliseconds for which turns may continue after the worker was requested to stop. Default 30,000. */
  readonly grace?: number | undefined
  /** Limits, weights and budgets of tenants. Use the same policy for all workers. Default: all tenants are treated alike. */
  readonly policy?: WorkPolicy | undefined
  /**
   * True to answer every conversation that awaits the model, even without a request, including imports, forks and other appends.
   * Default false.
   */
  readonly answerAll?: boolean | undefined
  /**
   * Signal that ends standby. Until it aborts, the worker takes only steps during which two workers died, one at a time and without
   * other work meanwhile; all other workers leave these steps alone for `ttl`. Afterwards it works like any other worker. Default: no
   * standby.
   */
  readonly standby?: AbortSignal | undefined
}

const fields: OptionKinds<WorkerOptions<ConversationHandle>> = {
  turn: kinds.call,
  name: kinds.text,
  slots: kinds.several,
  conversations: kinds.texts,
  onEvent: kinds.call,
  onStep: kinds.call,
  ttl: kinds.several,
  grace: kinds.count,
  policy: kinds.anything,
  answerAll: kinds.flag,
  standby: kinds.signal,
}

/** Returns options whose `turn` accepts conversations of another kind. Checks nothing. */
export const mapServed = <Given, Taken>(
  options: WorkerOptions<Taken>,
  edge: (chat: Given) => Taken,
): WorkerOptions<Given> => {
  const { turn, ...others } = { ...options }
  return {
    ...others,
    turn: typeof turn === 'function' ? ({ id, chat }) => turn({ id, chat: edge(chat) }) : turn,
  }
}

/** Checks the options of a worker: refuses unknown ones, and requires `turn`. */
export const checkWorkerOptions = (
  options: WorkerOptions<ConversationHandle>,
): E.Either<InvalidInput, WorkerOptions<ConversationHandle>> => {
  const checked = checkOptions(options, fields)
  if (E.isLeft(checked)) return checked
  const { turn } = checked.right
  if (!turn) return E.left(invalidInput('turn', 'must be a function that returns the options of a turn'))
  const policy = checkPolicy(checked.right.policy)
  return E.isLeft(policy) ? policy : E.right({ ...checked.right, turn, policy: policy.right })
}

/** Minimum wait in milliseconds for each worker that should take a step first: a claim takes a few milliseconds. */
const rankWait = 10

/** Minimum number of events between snapshots. This many events are read in well under a second. */
const settleAfter = 5_000

export const settingsOf = ({
  turn,
  slots = 8,
  conversations = [''],
  onEvent,
  onStep,
  ttl = 10_000,
  grace = 30_000,
  policy = {},
  answerAll = false,
  standby,
}: WorkerOptions<ConversationHandle>): WorkerSettings => ({
  slots,
  conversations,
  ttl,
  rankWait,
  grace,
  settleAfter,
  policy,
  answerAll,
  ...(standby && { standby }),
  onStep: quietly(onStep),
  begin: (chat, hasMail) => turningOf(chat).begin(hasMail),
  give: (chat, signal) => giveTurn(chat, signal, () => turn({ id: chat.id, chat }), onEvent),
})
