import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { ModelAborted } from '../models/model.ts'
import { inSpan } from '../telemetry/spans.ts'
import { unwrap, run, type Fallible, task } from '../../result/fallible.ts'
import { turnCancelled } from './errors.ts'
import { type LiveHistory, liveHistory } from './calls/live.ts'
import { createTurnClaim, type ClaimCache } from './claims/turn-claim.ts'
import type { ResolvedTurnOptions, TurnOptions } from './options.ts'
import { settle } from './settle.ts'
import { type TurnListener, streamTurn, type TurnEvent } from './stream-turn.ts'
import { goesOn, type TurnResult, type TurnError } from './turn-result.ts'
import { type TurnWatch, watchOf } from './say/watch.ts'
import { newCourse, stateAtStart } from './turn-state.ts'

/** Runner of turns in a conversation. */
export interface TurnRunner {
  readonly turn: (options: TurnOptions) => TaskEither<TurnError, TurnResult>
  /** Runs a turn and returns an iterator over its events. Throws the turn's error during iteration. */
  readonly stream: (options: TurnOptions) => AsyncIterableIterator<TurnEvent>
  /** Starts reading for the next turn, as described in `liveHistory`. */
  readonly begin: LiveHistory['begin']
  /** Reads for the next turn, as described in `liveHistory`. */
  readonly ahead: LiveHistory['ahead']
  /** Returns the size of the history that is cached for the next turn, in characters of JSON. */
  readonly size: () => number
}

/**
 * Returns a runner of turns in a conversation. A turn makes the context fit, calls the model, records the reply, runs the tools that
 * the reply calls, and records their results; it repeats this until the model stops. Each step is recorded before the next one begins,
 * so if a turn ends early or its process is killed, the next turn resumes there.
 *
 * A reply is recorded right after the history from which it was computed. Later user messages are placed after the reply, and the turn
 * then answers them. If that history was rewound, the turn ends with `StaleContext`.
 */
export const createTurnRunner = (chat: ConversationHandle): TurnRunner => {
  const { party, turnLog } = chat
  const history = liveHistory(chat)
  const remembered: ClaimCache = {}
  async function* steps(given: TurnOptions, listener?: TurnListener): Fallible<TurnError, TurnResult> {
    const settled = yield* unwrap(settle(given))
    let options = listener ? heardBy(listener, settled) : settled
    // Imported only when a turn runs, because it loads a large part of the library.
    const { turn } = await import('./turn.ts')
    let course = newCourse
    for (;;) {
      // A worker has started reading when it claimed the conversation.
      if (!party.isWorker) void history.begin()
      // For a worker, facts recorded since its claim, or since it last looked, concern this turn.
      const revision = party.isWorker ? yield* turnLog.seen() : (yield* turnLog.now()).revision
      const { whileHeld, emit, signal } = options
      const claim = createTurnClaim(chat, history, remembered, options)
      const watch = watchOf(chat, revision, signal, claim)
      let turned: Outcome
      try {
        const begun = stateAtStart(chat.id, { ...options, signal: watch.signal }, course)
        turned = await traceTurn(chat.id, options, async () => {
          const ended = await turn(begun, { chat, history, claim, watch })
          ;({ course } = ended)
          return E.mapLeft((error: TurnError) => cancelledOr(error, chat.id, watch))(ended.outcome)
        })
        const isTaken = E.isLeft(turned) && claim.isLost() && !watch.signal.aborted
        if (!isTaken || party.isWorker) return yield* unwrap(turned)
      } finally {
        watch.end()
        await claim.leave(finalReplyOf(turned), watch.cancelled() ? 'done' : reasonOf(turned))
      }
      // Another holder has taken over the conversation, and its outcome counts. This turn does not take the conversation back.
      course = { ...course, losses: course.losses + 1 }
      if (course.isAsking) emit({ type: 'retrying', error: takenOver, wait: 0, try: 1 })
      if (whileHeld === 'take' && claim.hasClaimed()) options = { ...options, whileHeld: 'wait' }
    }
  }
  return {
    turn: (options) => task(() => steps(options)),
    stream: (options) => streamTurn((listener) => run(steps(options, listener))),
    begin: history.begin,
    ahead: history.ahead,
    size: history.size,
  }
}

type Outcome = E.Either<TurnError, TurnResult> | undefined

const takenOver: ModelAborted = {
  _tag: 'ModelAborted',
  message:
    'aborted: another holder has taken over the conversation; this turn resumes when that holder has finished',
}

/** Returns the position of the last reply if it is final; the log then shows that the turn has ended. */
const finalReplyOf = (turned: Outcome): number | undefined =>
  turned?._tag === 'Right' && turned.right.ended === 'stop' && turned.right.calls > 0 && !goesOn(turned.right)
    ? turned.right.position
    : undefined

/** Returns the state in which the turn leaves the conversation. `turned` is undefined if a function supplied by the caller threw. */
const reasonOf = (turned: Outcome): 'done' | 'waiting' | 'free' => {
  if (turned?._tag === 'Right') {
    const { ended, waiting } = turned.right
    // If an approval can expire, a worker must notice when it does.
    const mayExpire = waiting.some(({ until }) => until !== undefined)
    return ended !== 'waiting' ? 'done' : mayExpire ? 'free' : 'waiting'
  }
  return turned?.left._tag === 'NothingToAnswer' ? 'done' : 'free'
}

/** Returns `TurnCancelled` in place of the abort error if the turn was cancelled; otherwise the error unchanged. */
const cancelledOr = (error: TurnError, conversation: string, { cancelled }: TurnWatch): TurnError => {
  const by = error._tag === 'ModelAborted' ? cancelled() : undefined
  return by ? { ...error, ...turnCancelled(conversation, by) } : error
}

const heardBy = ({ emit, signal }: TurnListener, options: ResolvedTurnOptions): ResolvedTurnOptions => ({
  ...options,
  emit,
  signal: options.signal ? AbortSignal.any([options.signal, signal]) : signal,
})

/** Errors that end a turn early but do not indicate a fault. */
const harmless: ReadonlySet<string> = new Set<TurnError['_tag']>([
  'NothingToAnswer',
  'TurnCancelled',
  'ModelAborted',
  'StaleContext',
])

/** Runs a turn in a span that contains the spans of its model and tool calls. */
const traceTurn = (
  conversation: string,
  { model, client: { form } }: ResolvedTurnOptions,
  give: () => Promise<NonNullable<Outcome>>,
): Promise<NonNullable<Outcome>> =>
  inSpan(
    'invoke_agent',
    () => ({
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': form ? 'openai' : 'anthropic',
        'gen_ai.request.model': model,
      },
      inherited: { 'gen_ai.conversation.id': conversation },
    }),
    async (span) => {
      const turned = await give()
      const ended = E.isRight(turned) ? turned.right.ended : turned.left._tag
      span?.set({ 'palimpsest.turn.ended': ended })
      if (E.isLeft(turned) && !harmless.has(ended)) span?.failed(ended)
      return turned
    },
  )
