import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Conversation } from '../conversation/conversation.ts'
import { ok, run, type Steps, task } from '../result/steps.ts'
import { turnCancelled } from './errors.ts'
import { liveHistory } from './calls/live.ts'
import type { Settled, TurnOptions } from './options.ts'
import { settle } from './settle.ts'
import { type Listener, streamed, type TurnEvent } from './streamed.ts'
import type { Turned, TurnError } from './turned.ts'
import { type Watch, watchOf } from './say/watch.ts'
import { tracedTurn } from './traced-turn.ts'

/** What gives turns to a model in a conversation. */
export interface Turning {
  readonly turn: (options: TurnOptions) => TaskEither<TurnError, Turned>
  /** The same as an iteration, which throws the error of the turn. */
  readonly stream: (options: TurnOptions) => AsyncIterableIterator<TurnEvent>
}

/**
 * Gives turns to a model in a conversation: makes the context fit, calls the model, records the reply, runs the tools that it calls,
 * records their results, and repeats this until the model stops. Each step is recorded before the next one begins, so if a turn ends
 * early, or its process is killed, the next turn resumes there.
 *
 * A reply is recorded right after what it was computed from, what the user has said since after it; the turn then answers that. If what it
 * was computed from was rewound, the turn ends with `StaleContext`.
 */
export const turning = (chat: Conversation): Turning => {
  const history = liveHistory(chat)
  async function* steps(given: TurnOptions, listener?: Listener): Steps<TurnError, Turned> {
    const settled = yield* ok(settle(given))
    const options = listener ? heardBy(listener, settled) : settled
    // A good part of the library: only turns wait for it.
    const { turn } = await import('./turn.ts')
    const { revision } = yield* chat.turnLog.now()
    const watch = watchOf(chat, revision, options.signal)
    try {
      const turned = await tracedTurn(chat.id, options, async () => {
        const ended = await run(turn(chat, history, { ...options, signal: watch.signal, watch }))
        return E.mapLeft((error: TurnError) => cancelledOr(error, chat.id, watch))(ended)
      })
      return yield* ok(turned)
    } finally {
      watch.end()
    }
  }
  return {
    turn: (options) => task(() => steps(options)),
    stream: (options) => streamed((listener) => run(steps(options, listener))),
  }
}

/** What a turn that was cancelled ends with, in place of the error of its signal. */
const cancelledOr = (error: TurnError, conversation: string, { cancelled }: Watch): TurnError => {
  const by = error._tag === 'ModelAborted' ? cancelled() : undefined
  return by ? { ...error, ...turnCancelled(conversation, by) } : error
}

const heardBy = ({ emit, signal }: Listener, options: Settled): Settled => ({
  ...options,
  emit,
  signal: options.signal ? AbortSignal.any([options.signal, signal]) : signal,
})

/** `turn` of a conversation. */
export const turns = (chat: Conversation): Turning['turn'] => turning(chat).turn

/** `stream` of a conversation: what happens in a turn, as it happens. */
export const streams = (chat: Conversation): Turning['stream'] => turning(chat).stream
