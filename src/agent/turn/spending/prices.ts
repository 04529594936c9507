import { z } from 'zod'
import { type UsageCounts, tokensOfUsage } from './usage.ts'

/** US dollars per million tokens. */
export interface TokenRates {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  /** Rates of tokens written to the cache for five minutes, and for an hour. */
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
/** Schema of `Prices` given by a caller. */
export const pricesSchema = z.record(z.string(), priceSchema)

/** Date of the table below. */
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
 * List prices of the Messages API as of `pricesAsOf` (https://platform.claude.com/docs/en/about-claude/pricing). `costOf` applies the
 * known terms of batches, web searches and inference in the US; priority, fast mode, other hosts and containers have their own prices,
 * which it does not know. The `prices` of a turn add to these or override them.
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

/** Returns the price of a model, if there is one: under its name, or its name without the date. */
export const priceOf = (all: Prices, model: string): Price | undefined =>
  [model, model.replace(date, '')].flatMap((name) => (Object.hasOwn(all, name) ? (all[name] ?? []) : []))[0]

/** US dollars per web search. */
const webSearch = 0.01
const [batch, inUs] = [0.5, 1.1]

/** Returns the cost of a call in US dollars, without the terms that `lacksOf` names. */
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

/** Lists the terms that may change the price of a call but have no known price, by the API's names for them: `speed: fast`. */
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

/** Reports whether the price of a service tier is known: tiers may cost more or less than the standard one. */
export const isTierPriced = (tier: string | undefined, model: string | undefined): boolean =>
  tier === undefined || (tier === 'batch' && model?.includes('claude') === true)
