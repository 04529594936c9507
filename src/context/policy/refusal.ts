import type { Learned } from '../tokens/usage.ts'
import { allowedIn, type ContextSettings } from './settings.ts'
import type { TokenCount } from '../tokens/tokens.ts'

/** How an API refused a request as too long. */
export interface Refusal {
  /** Tokens of the request and of the model's window, if the API named them. */
  readonly tokens?: number
  readonly maximum?: number
}

/** The counts in the error message of an API. */
export const refusalOf = ({ message }: { readonly message: string }): Refusal => {
  const [, tokens, maximum] = /([\d,]+) tokens > ([\d,]+)/.exec(message) ?? []
  if (tokens && maximum) return { tokens: numberOf(tokens), maximum: numberOf(maximum) }
  // With the `max_tokens` of the answer between the two.
  const [, input, window] = /([\d,]+) \+ [\d,]+ > ([\d,]+)/.exec(message) ?? []
  if (input && window) return { tokens: numberOf(input), maximum: numberOf(window) }
  const [, limit] = limits.exec(message) ?? []
  const used = uses.exec(message)?.slice(1).find(Boolean)
  return used && limit ? { tokens: numberOf(used), maximum: numberOf(limit) } : {}
}

/** How endpoints of Chat Completions name the window, and the tokens of the request without its answer. */
const limits = /(?:context length is|must be <=|context size \() ?([\d,]+)/
const uses =
  /([\d,]+) (?:in the messages|in your prompt|of text input|input tokens|`inputs` tokens|tokens\) exceeds)|resulted in ([\d,]+) tokens/

const numberOf = (digits: string): number => Number(digits.replaceAll(',', ''))

/** What fraction of the context to keep if nothing is known but that it is too long. */
const smaller = 0.75

/** The most tokens, as we count them, of a context that the API refused with `total` of them: fewer, by as much as its message says. */
export const allowedAfter = (
  { tokens, maximum }: Refusal,
  total: number,
  settings: ContextSettings,
): number => {
  const share = tokens && maximum ? allowedIn(maximum, settings) / tokens : smaller
  return Math.max(0, Math.min(total - 1, Math.floor(total * (share > 0 ? share : smaller))))
}

export const learnedFrom = (
  { tokens }: Refusal,
  { total, estimated, correction, model }: TokenCount,
): Learned | undefined => {
  if (!tokens || estimated === 0) return undefined
  return {
    ...(model !== undefined && { model }),
    actual: Math.max(0, tokens - (total - estimated)),
    estimated: Math.round(estimated / correction),
  }
}
