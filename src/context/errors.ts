import type { Covers } from '../events/events.ts'
import type { FailedCall } from './model.ts'
import type { ItemTokens } from './tokens.ts'

/** What may be hidden does not make the context small enough: what has to stay is too large. Nothing was hidden. */
export interface ContextTooLarge {
  readonly _tag: 'ContextTooLarge'
  readonly message: string
  /** Tokens with all hidden that may be. */
  readonly used: number
  readonly allowed: number
  /** Tokens of system prompt and tools. */
  readonly prompt: number
  /** The items that have to stay, the largest first. */
  readonly items: readonly ItemTokens[]
}

/** The summary is not smaller than what it would stand for. Nothing was written. */
export interface ContextGrew {
  readonly _tag: 'ContextGrew'
  readonly message: string
  readonly covers: Covers
  /** Estimated tokens of the slice, and of the summary. */
  readonly before: number
  readonly after: number
}

/** There is no message in the slice, only summaries and truncations: nothing has been said since. Nothing was written. */
export interface NothingNew {
  readonly _tag: 'NothingNew'
  readonly message: string
  readonly covers: Covers
}

/** The request was made by a renderer (of replies, or of summaries) that this version does not have: a newer palimpsest made it. */
export interface UnknownRenderer {
  readonly _tag: 'UnknownRenderer'
  readonly message: string
  readonly renderer: number
  /** Those that it has. */
  readonly known: readonly number[]
}

/** There is no such call of a model in the conversation. */
export interface CallOutOfRange {
  readonly _tag: 'CallOutOfRange'
  readonly message: string
  readonly conversation: string
  /** The call asked for; undefined for the last one of none. */
  readonly call: number | undefined
  /** How many there are. */
  readonly calls: number
}

export const contextTooLarge = (
  used: number,
  allowed: number,
  prompt: number,
  items: readonly ItemTokens[],
): ContextTooLarge => {
  const largest = items.slice(0, 3).map(({ position, tokens }) => `position ${position} (${tokens})`)
  return {
    _tag: 'ContextTooLarge',
    message: `the context is ${used} tokens with all hidden that may be, and ${allowed} are allowed: use a model with a larger window, or shorten what fills it: ${[`system prompt and tools (${prompt})`, ...largest].join(', ')}`,
    used,
    allowed,
    prompt,
    items,
  }
}

/** As `ContextTooLarge`, where the API has said so. */
export const refusedTooLarge = (
  error: ContextTooLarge,
  { message }: { readonly message: string },
): ContextTooLarge => ({
  ...error,
  message: `${message}. Nothing is left that may be hidden. What fills the context: ${error.items
    .slice(0, 3)
    .map(({ position, tokens }) => `position ${position} (${tokens} tokens)`)
    .join(', ')}`,
})

export const contextGrew = (covers: Covers, before: number, after: number): ContextGrew => ({
  _tag: 'ContextGrew',
  message: `the summary of ${covers.first} to ${covers.last} is about ${after} tokens, and what it stands for ${before}: ask for a shorter one, or truncate`,
  covers,
  before,
  after,
})

export const nothingNew = (covers: Covers): NothingNew => ({
  _tag: 'NothingNew',
  message: `${covers.first} to ${covers.last} holds no message, only what was condensed or truncated already: condense when there are new messages`,
  covers,
})

export const unknownRenderer = (
  renderer: number,
  known: readonly number[],
  what: 'renderer' | 'summarizer' = 'renderer',
): UnknownRenderer => ({
  _tag: 'UnknownRenderer',
  message: `there is no ${what} ${renderer} here, only ${known.join(', ')}: a newer palimpsest made the request, upgrade`,
  renderer,
  known,
})

/** The model gave no summary that could stand for what it was asked to summarize. Nothing was written. */
export interface SummaryFailed {
  readonly _tag: 'SummaryFailed'
  readonly message: string
  /**
   * The reply's stop reason, where that says that the reply is not whole; `blank`: nothing in it is visible; `invalid`: what the
   * summarizer gave is no summary; `too_large`: what is to be summarized fits into no request; `threw`: the summarizer threw `cause`.
   */
  readonly reason: string
  /** The calls that were made in vain. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}

export const summaryFailed = (reason: string, message: string, cause?: unknown): SummaryFailed => ({
  _tag: 'SummaryFailed',
  message,
  reason,
  ...(cause !== undefined && { cause }),
})

/** It is not the model's turn: nothing was said since its last reply, or at all. */
export interface NothingToAnswer {
  readonly _tag: 'NothingToAnswer'
  readonly message: string
  readonly conversation: string
}

/** The model has been asked as often as it may be in one turn, and goes on calling tools. All of it is recorded. */
export interface TooManyCalls {
  readonly _tag: 'TooManyCalls'
  readonly message: string
  readonly conversation: string
  readonly calls: number
}

/** The parameters hold references to secrets, as they are recorded, and not the secrets themselves. Nothing was sent. */
export interface SecretMissing {
  readonly _tag: 'SecretMissing'
  readonly message: string
  /** Where each of them stands in `parameters`. */
  readonly paths: readonly string[]
}

export const secretMissing = (paths: readonly string[]): SecretMissing => ({
  _tag: 'SecretMissing',
  message: `secrets are not recorded, only that they are there: name the value of ${paths.map((path) => `parameters.${path}`).join(', ')}`,
  paths,
})

export const nothingToAnswer = (conversation: string): NothingToAnswer => ({
  _tag: 'NothingToAnswer',
  message: `the model has the last word in ${conversation}, or nothing was said: append what the user says first`,
  conversation,
})

export const tooManyCalls = (conversation: string, calls: number): TooManyCalls => ({
  _tag: 'TooManyCalls',
  message: `the model was asked ${calls} times in this turn of ${conversation} and goes on: call turn again to go on too, or raise maxCalls`,
  conversation,
  calls,
})

export const callOutOfRange = (
  conversation: string,
  call: number | undefined,
  calls: number,
): CallOutOfRange => ({
  _tag: 'CallOutOfRange',
  message: `conversation ${conversation} has ${calls === 0 ? 'no call' : `${calls} ${calls === 1 ? 'call' : 'calls'}`} of a model with a receipt${calls === 0 ? ': only what a turn recorded has one' : `: name one from 1 to ${calls}`}`,
  conversation,
  call,
  calls,
})
