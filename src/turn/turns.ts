import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Conversation } from '../conversation/conversation.ts'
import { ok, type Steps, task } from '../result/steps.ts'
import { liveHistory } from './live.ts'
import type { TurnOptions } from './options.ts'
import { settle } from './settle.ts'
import type { Turned, TurnError } from './turned.ts'

/**
 * Gives turns to a model in a conversation: makes the context fit, calls the model, records the reply, runs the tools that it calls,
 * records their results, and repeats this until the model stops. Each step is recorded before the next one begins, so if a turn ends
 * early, or its process is killed, the next turn resumes there.
 *
 * A reply is recorded right after what it was computed from, what the user has said since after it; the turn then answers that. If what it
 * was computed from was rewound, the turn ends with `StaleContext`.
 */
export const turns = (chat: Conversation): ((options: TurnOptions) => TaskEither<TurnError, Turned>) => {
  const history = liveHistory(chat)
  async function* steps(given: TurnOptions): Steps<TurnError, Turned> {
    const options = yield* ok(settle(given))
    // A good part of the library: only turns wait for it.
    const { turn } = await import('./turn.ts')
    return yield* turn(chat, history, options)
  }
  return (options) => task(() => steps(options))
}
