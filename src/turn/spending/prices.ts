import { z } from 'zod'
import { type Counts, tokensOfUsage } from './usage.ts'

/** US dollars per million tokens. */
export interface Rates {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  /** Tokens written to the cache for five minutes, and for an hour. */
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
}

/** What a model costs. */
export interface Price extends Rates {
  /** The rates of a call whose input, cached or not, has more tokens than `above`. */
  readonly long?: Rates & { readonly above: number }
}

/** Prices by the name of the model. A date at the end of a name (`-20250929`, `@20250929`) may be left out. */
export type Prices = { readonly [model: string]: Price }

const rate = z.number().nonnegative()
const rates = { input: rate, output: rate, cacheRead: rate, cacheWrite5m: rate, cacheWrite1h: rate }
const priceSchema = z.strictObject({ ...rates, long: z.strictObject({ ...rates, above: rate }).optional() })
/** `Prices` as a caller gives them. */
export const pricesSchema = z.record(z.string(), priceSchema)

/** The day of the table below. */
export const pricesAsOf = '2026-11-22'

const price = (
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite5m = 1.25 * input,
  cacheWrite1h = 2 * input,
): Rates => ({ input, output, cacheRead, cacheWrite5m, cacheWrite1h })

const opus = price(5, 25, 0.5)
const sonnet = price(3, 15, 0.3)

/**
 * List prices of the Messages API as of `pricesAsOf` (https://platform.claude.com/docs/en/about-claude/pricing). Batches, priority, other
 * hosts, web searches and containers have prices of their own. `prices` of a turn adds to them or replaces them.
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

/** The price of a model, if there is one: under its name, or its name without the date. */
export const priceOf = (all: Prices, model: string): Price | undefined =>
  [model, model.replace(date, '')].flatMap((name) => (Object.hasOwn(all, name) ? (all[name] ?? []) : []))[0]

/** What a call cost, in US dollars. */
export const costOf = (counts: Counts, { long, ...short }: Price): number => {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output } = counts
  const applied = long && tokensOfUsage({ ...counts, output: 0 }) > long.above ? long : short
  const millionths =
    input * applied.input +
    cacheRead * applied.cacheRead +
    (cacheWrite - cacheWrite1h) * applied.cacheWrite5m +
    cacheWrite1h * applied.cacheWrite1h +
    output * applied.output
  return millionths / 1_000_000
}
