import type { TokenCorrection } from '../tokens/usage.ts'
import { allowanceIn, type ContextSettings } from './settings.ts'
import type { TokenCount } from '../tokens/tokens.ts'

/** An API's refusal of a request that is too long. */
export interface ContextRefusal {
  /** Tokens of the request, if the error message names them; `maximum` is the size of the model's window. */
  readonly tokens?: number
  readonly maximum?: number
}

/** Reads the token counts of the request and of the window from an API's error message. */
export const refusalOf = ({ message }: { readonly message: string }): ContextRefusal => {
  const [, found, most] = /([\d,]+) tokens > ([\d,]+)/.exec(message) ?? []
  if (found && most) return { tokens: numberOf(found), maximum: numberOf(most) }
  // Form with `max_tokens` between the two numbers: `input + max_tokens > window`.
  const [, input, window] = /([\d,]+) \+ [\d,]+ > ([\d,]+)/.exec(message) ?? []
  if (input && window) return { tokens: numberOf(input), maximum: numberOf(window) }
  const maximum = limits.exec(message)?.slice(1).find(Boolean)
  const tokens = uses.exec(message)?.slice(1).find(Boolean)
  return tokens && maximum ? { tokens: numberOf(tokens), maximum: numberOf(maximum) } : {}
}

/**
 * Returns a case-insensitive pattern for error messages of Chat Completions endpoints that captures the number at `N` in any of these
 * forms.
 */
const either = (...forms: readonly string[]): RegExp =>
  new RegExp(forms.map((form) => form.replaceAll('N', '([\\d,]+)')).join('|'), 'i')

/** Error wordings that name the size of the context window. */
const limits = either(
  '(?:context|prompt|model) length (?:is|of)(?: only)? N',
  'must be <= ?N',
  'context (?:size|length) \\(N',
  'context length: N',
  'with N maximum context length',
  'maximum number of tokens allowed \\(N',
  'exceeds the limit of N',
  'the configured limit of N',
  'prompt cannot exceed N',
  'max_num_tokens \\(N',
  'allowed input length of N',
  'context size is N',
  'n_ctx:? \\(?N',
  '`inputs` must have less than N',
)
/** Error wordings that name the size of the request, not including the answer. */
const uses = either(
  'N (?:in the messages|in your prompt|of text input|input tokens|`inputs` tokens|tokens\\) (?:exceeds|is longer))',
  'resulted in N tokens',
  'request contains N tokens',
  'prompt (?:contains|has) N tokens',
  'token count (?:of )?\\(?N\\)? exceeds',
  'keep the first N tokens',
  'n_keep:? \\(?N',
  'too long: N,',
  'prompt cannot exceed [\\d,]+ - received N',
  'prompt length \\(N',
  'input length N exceeds',
  '`inputs` must have less than [\\d,]+ tokens\\. Given: N',
)

const numberOf = (digits: string): number => Number(digits.replaceAll(',', ''))

/** Fraction of the context to keep if the API does not say by how much the context is too long. */
const smaller = 0.75

/**
 * Returns the limit for a context of `total` tokens that the API refused; both numbers are by our own count. The limit is less than
 * `total`, in the proportion that the API's message gives.
 */
export const allowanceAfter = (
  { tokens, maximum }: ContextRefusal,
  total: number,
  settings: ContextSettings,
): number => {
  const share = tokens && maximum ? allowanceIn(maximum, settings) / tokens : smaller
  return Math.max(0, Math.min(total - 1, Math.floor(total * (share > 0 ? share : smaller))))
}

export const correctionFrom = (
  { tokens }: ContextRefusal,
  { total, estimated, correction, model }: TokenCount,
): TokenCorrection | undefined => {
  if (!tokens || estimated === 0) return undefined
  return {
    ...(model !== undefined && { model }),
    actual: Math.max(0, tokens - (total - estimated)),
    estimated: Math.round(estimated / correction),
  }
}
