import type { Covers } from '../../../events/events.ts'
import type { ItemTokens } from '../tokens/tokens.ts'

/** Error: the items that may not be hidden are too large by themselves. Nothing was hidden. */
export interface ContextTooLarge {
  readonly _tag: 'ContextTooLarge'
  readonly message: string
  /** Tokens of the context after hiding everything that may be hidden; `allowed` is the limit. */
  readonly used: number
  readonly allowed: number
  /** Tokens of the system prompt and the tools. */
  readonly prompt: number
  /** Items that may not be hidden, largest first. */
  readonly items: readonly ItemTokens[]
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
    message: `the context has ${used} tokens after hiding everything that may be hidden, but only ${allowed} are allowed: use a model with a larger window, or shorten the largest parts: ${[`system prompt and tools (${prompt})`, ...largest].join(', ')}`,
    used,
    allowed,
    prompt,
    items,
  }
}

/** Replaces the message of a `ContextTooLarge` with the message of the API that refused the context, followed by the largest items. */
export const withApiWording = (
  error: ContextTooLarge,
  { message }: { readonly message: string },
): ContextTooLarge => ({
  ...error,
  message: `${message}. No more items may be hidden. Largest items: ${error.items
    .slice(0, 3)
    .map(({ position, tokens }) => `position ${position} (${tokens} tokens)`)
    .join(', ')}`,
})

/** Error: the summary is not smaller than the slice that it would replace. Nothing was written. */
export interface ContextGrew {
  readonly _tag: 'ContextGrew'
  readonly message: string
  readonly covers: Covers
  /** Estimated tokens of the slice; `after` is the estimate for the summary. */
  readonly before: number
  readonly after: number
}

/** Error: the slice holds no messages, only summaries and truncations, so there is nothing new to summarize. Nothing was written. */
export interface NothingNew {
  readonly _tag: 'NothingNew'
  readonly message: string
  readonly covers: Covers
}

export const contextGrew = (covers: Covers, before: number, after: number): ContextGrew => ({
  _tag: 'ContextGrew',
  message: `the summary of ${covers.first} to ${covers.last} would have about ${after} tokens, and replace only ${before}: request a shorter summary, or truncate`,
  covers,
  before,
  after,
})

export const nothingNew = (covers: Covers): NothingNew => ({
  _tag: 'NothingNew',
  message: `positions ${covers.first} to ${covers.last} hold no messages, only markers of earlier summaries and truncations: condense when there are new messages`,
  covers,
})
