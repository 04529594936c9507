import { type CommandType, commandSchemas } from '../../commands/command.ts'
import type { Conversation } from '../../api/promises.ts'
import { invalidInput } from '../../events/errors.ts'
import { toError } from '../../result/typed-error.ts'

const otherWriters = [
  'execute',
  'note',
  'link',
  'turn',
  'say',
  'cancel',
  'request',
  'retry',
  'pause',
  'resume',
  'approve',
  'deny',
  'withdraw',
] as const satisfies readonly (keyof Conversation)[]

/** Names of all methods that write: the methods for commands, and the names in `otherWriters`. */
type Writer = (CommandType & keyof Conversation) | (typeof otherWriters)[number]

/**
 * Returns a conversation as of a position, for an agent that reads it before it begins a turn. Write methods fail with `InvalidInput`.
 * Notes and links are current, not as of the position.
 */
export const chatAt = (chat: Conversation, at: number): Conversation => {
  const refuse = (): never => {
    throw toError(invalidInput('agent', 'writes to its conversation, which is read-only in a replay'))
  }
  const refused = Object.fromEntries(
    [...Object.keys(commandSchemas), ...otherWriters].map((name) => [name, async () => refuse()]),
  ) as {
    readonly [Name in Writer]: () => Promise<never>
  }
  return {
    ...chat,
    ...refused,
    stream: refuse,
    position: async () => at,
    effective: (options) => chat.effective({ at, ...options }),
    context: (options) => chat.context({ at, ...options }),
    full: (options?: object) => chat.full({ at, ...options }),
    render: (options) => chat.render({ at, ...options }),
    tokens: (options) => chat.tokens({ at, ...options }),
    waiting: (options) => chat.waiting({ at, ...options }),
    queued: (options) => chat.queued({ at, ...options }),
    timeline: (options) => chat.timeline({ at, ...options }),
    events: (options) => chat.events({ to: at, ...options }),
    stored: (options) => chat.stored({ to: at, ...options }),
    calls: async function* () {
      for await (const call of chat.calls()) if (call.position <= at) yield call
    },
  }
}
