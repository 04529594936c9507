import type { RenderResult } from '../../projections/render/renderer.ts'
import type { TypedError } from '../../result/typed-error.ts'

/**
 * The model has nothing to answer: no message has been appended since its last reply, or the conversation shows no messages. A turn of
 * a conversation that does not exist fails with `ConversationNotFound`, because its id may be wrong.
 */
export interface NothingToAnswer {
  readonly _tag: 'NothingToAnswer'
  readonly message: string
  readonly conversation: string
}

/** The model was called `maxCalls` times in one turn and still calls tools. Everything up to then is recorded. */
export interface TooManyCalls {
  readonly _tag: 'TooManyCalls'
  readonly message: string
  readonly conversation: string
  readonly calls: number
}

/** The parameters contain recorded references to secrets instead of the secrets themselves. Nothing was sent. */
export interface SecretMissing {
  readonly _tag: 'SecretMissing'
  readonly message: string
  /** Paths of the missing secrets in `parameters`. */
  readonly paths: readonly string[]
}

/** The turn was cancelled. All complete content is recorded. */
export interface TurnCancelled {
  readonly _tag: 'TurnCancelled'
  readonly message: string
  readonly conversation: string
  /** Name of the person who cancelled the turn, if given. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
}

export const turnCancelled = (
  conversation: string,
  { by, reason }: Pick<TurnCancelled, 'by' | 'reason'>,
): TurnCancelled => ({
  _tag: 'TurnCancelled',
  message: `the turn of ${conversation} was cancelled${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : ` (${reason})`}: all complete content is recorded, call turn again to continue from there`,
  conversation,
  ...(by !== undefined && { by }),
  ...(reason !== undefined && { reason }),
})

export const nothingToAnswer = (
  conversation: string,
  awaits: Exclude<RenderResult['awaits'], 'model'>,
): NothingToAnswer => ({
  _tag: 'NothingToAnswer',
  message: `${awaits === 'user' ? `it is not the model's turn in ${conversation}` : `${conversation} has no messages to answer`}: ${toBegin}`,
  conversation,
})

const toBegin = 'append a user message first'

/** Returns the error of reading a conversation for a turn. If the conversation does not exist, the message says how to begin it. */
export const withBeginning = <Failed extends TypedError>(error: Failed, conversation: string): Failed => {
  const isMissing =
    error._tag === 'ConversationNotFound' && 'conversation' in error && error.conversation === conversation
  if (!isMissing) return error
  const { message } = error
  const advice = message.endsWith('?') ? ` Otherwise, ${toBegin}` : `: ${toBegin}`
  return { ...error, message: message + advice }
}

export const tooManyCalls = (conversation: string, calls: number): TooManyCalls => ({
  _tag: 'TooManyCalls',
  message: `the model was called ${calls} times in this turn of ${conversation} and still calls tools: call turn again to continue, or raise maxCalls`,
  conversation,
  calls,
})

export const secretMissing = (paths: readonly string[]): SecretMissing => ({
  _tag: 'SecretMissing',
  message: `secrets are not recorded: pass the value of ${paths.map((path) => `parameters.${path}`).join(', ')}`,
  paths,
})
