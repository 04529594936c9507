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

/** Options of a worker. Times in milliseconds. */
export interface WorkerOptions<Chat> {
  /** Returns the options of `turn` for a conversation. Called for each attempt. */
  readonly turn: (served: ServedConversation<Chat>) => TurnOptions | Promise<TurnOptions>
  /** Beginning of the worker's id, by which the log names it. Default `worker`. */
  readonly name?: string | undefined
  /** Number of conversations that it works on at once. Default 8. */
  readonly slots?: number | undefined
  /** Only conversations whose id begins with one of these prefixes. Default: all. */
  readonly conversations?: readonly string[] | undefined
  /** Called with each event in its turns. Errors it throws are ignored. */
  readonly onEvent?: ((served: ServedEvent) => void) | undefined
  /** Called with each attempt that has ended. Errors it throws are ignored. */
  readonly onStep?: ((step: AttemptReport) => void) | undefined
  /**
   * Time of silence after which a worker counts as dead, and its steps are taken over. Use the same value for all workers. Default
   * 10,000.
   */
  readonly ttl?: number | undefined
  /** Time for which turns may continue once the worker is to stop. Default 30,000. */
  readonly grace?: number | undefined
  /** Limits, weights and budgets of tenants. Use the same policy for all workers. Default: all tenants alike. */
  readonly policy?: WorkPolicy | undefined
  /** Answer every conversation that awaits the model, even without a request: imports, forks and other appends, too. Default false. */
  readonly answerAll?: boolean | undefined
  /**
   * Until this aborts, the worker stands by: it takes only steps during which two workers died, one at a time and nothing else
   * meanwhile, and all others leave these steps alone for `ttl`. Afterwards it works like any other. Default: it works from the start.
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

/** Options whose `turn` is given conversations of another kind. Checks nothing. */
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

/** The options as they are worth: no others, none missing. */
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

/** Minimum wait for each worker that should be faster: a claim takes a few milliseconds. */
const rankWait = 10

/** Number of events between snapshots: they are read in well under a second. */
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
