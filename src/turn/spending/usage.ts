import { isFields } from '../../events/json.ts'
import type { Origin } from '../../events/events.ts'
import { tokensIn } from '../../context/tokens/usage.ts'

/** Tokens, as the API counted them. */
export interface Usage {
  /** Of the input, those that were neither read from the prompt cache nor written to it. */
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/** As `usageOf`, with the tokens that were written to the cache for an hour, which cost more; `cacheWrite` has them, too. */
export interface Counts extends Usage {
  readonly cacheWrite1h: number
}

/** The tokens in the usage that the API reports with a reply. What it does not report is 0. */
export const countsIn = (reported: Origin['usage'] = {}): Counts => {
  const { cache_creation: written } = reported
  return {
    input: tokensIn(reported, 'input_tokens'),
    cacheRead: tokensIn(reported, 'cache_read_input_tokens'),
    cacheWrite: tokensIn(reported, 'cache_creation_input_tokens'),
    cacheWrite1h: isFields(written) ? tokensIn(written, 'ephemeral_1h_input_tokens') : 0,
    output: tokensIn(reported, 'output_tokens'),
  }
}

export const usageIn = (reported: Origin['usage']): Usage => usageOfCounts(countsIn(reported))

export const usageOfCounts = (counts: Counts): Usage => {
  const { cacheWrite1h: _, ...usage } = counts
  return usage
}

export const noUsage: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }

export const sumOf = (one: Usage, other: Usage): Usage => ({
  input: one.input + other.input,
  cacheRead: one.cacheRead + other.cacheRead,
  cacheWrite: one.cacheWrite + other.cacheWrite,
  output: one.output + other.output,
})

/** Tokens of the input, wherever they were read from. */
export const inputOf = ({ input, cacheRead, cacheWrite }: Usage): number => input + cacheRead + cacheWrite

export const tokensOfUsage = (usage: Usage): number => inputOf(usage) + usage.output
