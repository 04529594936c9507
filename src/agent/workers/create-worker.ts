import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { isConversationId, nameRule } from '../../events/ids.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { checkOptions, type OptionKinds, kinds } from '../../store/options.ts'
import type { TurnOptions } from '../turn/options.ts'
import { checkPolicy, type WorkPolicy } from './choosing/policy.ts'
import { ownClock } from './peers/clock.ts'
import { giveTurn, quietly, type ServedEvent, turnRunnerOf } from './serving/give.ts'
import type { AttemptReport, WorkerEnvironment, WorkerSettings } from './serving/shift.ts'
import { type WorkerExit, work } from './serving/worker.ts'

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

const optionKinds: OptionKinds<WorkerOptions<ConversationHandle>> = {
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

/** Minimum wait in milliseconds for each worker that should take a step first: a claim takes a few milliseconds. */
const rankWait = 10

/** Minimum number of events between snapshots. This many events are read in well under a second. */
const settleAfter = 5_000

/** Checks the options of a worker: refuses unknown ones, and requires `turn`. Returns them with the name and the policy. */
export const checkWorkerOptions = <Chat>(
  options: WorkerOptions<Chat>,
): E.Either<InvalidInput, WorkerOptions<Chat> & { readonly name: string; readonly policy: WorkPolicy }> => {
  const checked = checkOptions<WorkerOptions<Chat>>(options, optionKinds)
  if (E.isLeft(checked)) return checked
  const { turn, name = 'worker', ...others } = checked.right
  if (!turn) return E.left(invalidInput('turn', 'must be a function that returns the options of a turn'))
  if (!isConversationId(`${name}-${randomUUID()}`)) return E.left(invalidInput('name', nameRule))
  return E.map((policy: WorkPolicy) => ({ ...others, turn, name, policy }))(checkPolicy(others.policy))
}

const settingsOf = ({
  turn,
  slots = 8,
  conversations = [''],
  ttl = 10_000,
  grace = 30_000,
  policy = {},
  answerAll = false,
  standby,
  onStep,
  onEvent,
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
  begin: (chat: ConversationHandle, hasMail: boolean) => turnRunnerOf(chat).begin(hasMail),
  give: (chat: ConversationHandle, signal: AbortSignal) =>
    giveTurn(chat, signal, () => turn({ id: chat.id, chat }), onEvent),
})

/** A worker that claims steps of conversations that await an answer, and runs their turns. */
export interface WorkerMethods<W extends ResultStyle> {
  /** Id of the worker in the log. An id is never reused. */
  readonly id: string
  /**
   * Runs the worker until the signal aborts. The worker then takes no further step, and the steps in progress have `grace` ms to end;
   * the worker ends at most two seconds after that. It also ends when the store is closed or the store's file is replaced; while the
   * store is unavailable, it waits. A worker can run only once. Errors: `InvalidInput`, also on the second call.
   *
   * @example
   * const worker = store.worker({ turn: () => ({ client, model: 'claude-opus-5-5' }) })
   * const ended = await worker.run({ signal: AbortSignal.timeout(100) })
   */
  readonly run: (options?: RunOptions) => MethodResult<W, InvalidInput, WorkerExit>
}

/** A worker whose methods return TaskEithers. */
export interface TaskWorker extends WorkerMethods<'task'> {}

interface RunOptions {
  readonly signal?: AbortSignal | undefined
}

const runKinds: OptionKinds<RunOptions> = { signal: kinds.signal }

/** Creates a worker. Throws `InvalidInput` if its options are wrong. */
export const createWorker = (
  surroundings: Omit<WorkerEnvironment, 'clock'>,
  options: WorkerOptions<ConversationHandle>,
): TaskWorker => {
  const checked = checkWorkerOptions(options)
  if (E.isLeft(checked)) throw toError(checked.left)
  const settings = settingsOf(checked.right)
  const id = `${checked.right.name}-${randomUUID()}`
  const around = { ...surroundings, clock: ownClock }
  let hasRun = false
  return {
    id,
    run: (runOptions) =>
      task(async function* (): Fallible<InvalidInput, WorkerExit> {
        const { signal = new AbortController().signal } = yield* unwrap(checkOptions(runOptions, runKinds))
        // If two runs shared an id, each would take the other's steps for its own.
        if (hasRun)
          yield invalidInput(
            'run',
            'can be called only once: create another worker with store.worker(options)',
          )
        hasRun = true
        return work(id, settings, around, signal)
      }),
  }
}
