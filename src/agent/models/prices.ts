import { z } from 'zod'
import { type UsageCounts, tokensOfUsage } from './usage.ts'

/** Prices of tokens, in US dollars per million. */
export interface TokenRates {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  /** Rate of tokens written to the cache for five minutes. `cacheWrite1h` is the rate for one hour. */
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
}

/** Prices of a model's tokens. */
export interface Price extends TokenRates {
  /** Rates of a call whose input, cached or not, exceeds `above` tokens. */
  readonly long?: TokenRates & { readonly above: number }
}

/** Prices by model name. A date at the end of a name (`-20250929`, `@20250929`) may be omitted. */
export type Prices = { readonly [model: string]: Price }

const rate = z.number().nonnegative()
const rates = { input: rate, output: rate, cacheRead: rate, cacheWrite5m: rate, cacheWrite1h: rate }
const priceSchema = z.strictObject({ ...rates, long: z.strictObject({ ...rates, above: rate }).optional() })
export const pricesSchema = z.record(z.string(), priceSchema)

/** Date on which the price table was current. */
export const pricesAsOf = '2026-11-22'

const price = (
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite5m = 1.25 * input,
  cacheWrite1h = 2 * input,
): TokenRates => ({ input, output, cacheRead, cacheWrite5m, cacheWrite1h })

const opus = price(5, 25, 0.5)
const sonnet = price(3, 15, 0.3)

/**
 * List prices of the Messages API as of `pricesAsOf` (https://platform.claude.com/docs/en/about-claude/pricing). `costOf` also applies
 * the known terms of batches, web searches and inference in the US. The prices of the priority tier, fast mode, other hosts and
 * containers are not known. The `prices` of a turn add to this table or override it.
 */
export const prices: Prices = {
  'claude-fable-5-1': price(10, 50, 0.25),
  'claude-fable-5': price(10, 50, 1),
  'claude-opus-5-5': price(4, 20, 0.2),
  'claude-opus-5': opus,
  'claude-opus-4-8': opus,
  'claude-opus-4-7': opus,
  'claude-opus-4-6': opus,
  'claude-opus-4-5': opus,
  'claude-opus-4-1': price(15, 75, 1.5),
  'claude-sonnet-5-5': price(2, 10, 0.2),
  'claude-sonnet-4-6': sonnet,
  'claude-sonnet-4-5': sonnet,
  'claude-haiku-5-5': { ...price(0.1, 0.5, 0.01), long: { above: 100_000, ...price(0.5, 2.5, 0.05) } },
  'claude-haiku-4-5': price(1, 5, 0.1),
}

const date = /[-@]\d{8}$/

/** Returns the price listed under a model's name, with or without the date at its end; undefined if the model is not listed. */
export const priceOf = (all: Prices, model: string): Price | undefined =>
  [model, model.replace(date, '')].flatMap((name) => (Object.hasOwn(all, name) ? (all[name] ?? []) : []))[0]

/** Price of a web search in US dollars. */
const webSearch = 0.01
const [batch, inUs] = [0.5, 1.1]

/** Cost of a call in US dollars, by kind of token; `cacheWrite` includes the tokens written for one hour. */
export interface CostParts {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
  /** Cost of web searches. */
  readonly searches: number
}

/** Returns the cost of a call by kind of token, excluding the terms that `lacksOf` lists. */
export const costPartsOf = (counts: UsageCounts, { long, ...short }: Price): CostParts => {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output, terms = {} } = counts
  const applied = long && tokensOfUsage({ ...counts, output: 0 }) > long.above ? long : short
  const factor = ((terms.tier === 'batch' ? batch : 1) * (terms.geo === 'us' ? inUs : 1)) / 1_000_000
  const written = (cacheWrite - cacheWrite1h) * applied.cacheWrite5m + cacheWrite1h * applied.cacheWrite1h
  return {
    input: input * applied.input * factor,
    cacheRead: cacheRead * applied.cacheRead * factor,
    cacheWrite: written * factor,
    output: output * applied.output * factor,
    searches: (terms.webSearches ?? 0) * webSearch,
  }
}

/** Returns the cost of a call in US dollars, excluding the terms that `lacksOf` lists. */
export const costOf = (counts: UsageCounts, { long, ...short }: Price): number => {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output, terms = {} } = counts
  const applied = long && tokensOfUsage({ ...counts, output: 0 }) > long.above ? long : short
  const millionths =
    input * applied.input +
    cacheRead * applied.cacheRead +
    (cacheWrite - cacheWrite1h) * applied.cacheWrite5m +
    cacheWrite1h * applied.cacheWrite1h +
    output * applied.output
  const factor = (terms.tier === 'batch' ? batch : 1) * (terms.geo === 'us' ? inUs : 1)
  return (millionths / 1_000_000) * factor + (terms.webSearches ?? 0) * webSearch
}

/** Lists the terms of a call that may change its price but have no known price, as the API names them (`speed: fast`). */
export const lacksOf = ({ terms = {} }: UsageCounts, model: string | undefined): readonly string[] => {
  const { tier, speed, geo, webSearches, tools = [] } = terms
  const isClaude = model?.includes('claude') === true
  return [
    ...(isTierPriced(tier, model) ? [] : [`service_tier: ${tier}`]),
    ...(speed === undefined ? [] : [`speed: ${speed}`]),
    ...(geo === undefined || (isClaude && geo === 'us') ? [] : [`inference_geo: ${geo}`]),
    ...(webSearches === undefined || isClaude ? [] : ['web_search_requests']),
    ...tools,
  ]
}

/** Reports whether the price of a service tier is known. A tier without a known price may cost more or less than the standard tier. */
export const isTierPriced = (tier: string | undefined, model: string | undefined): boolean =>
  tier === undefined || (tier === 'batch' && model?.includes('claude') === true)
