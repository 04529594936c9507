import type { Covers } from '../../events/events.ts'
import type { ItemTokens } from '../tokens/tokens.ts'

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
