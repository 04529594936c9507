import type { Block } from '../../../events/blocks.ts'
import type { EstimatedUsage, Origin } from '../../../events/events.ts'
import { estimate } from './estimate.ts'
import { inputOf, tokensIn } from './usage.ts'

/**
 * Returns the origin of a reply, with estimates for the token counts that its endpoint did not report: some report none.
 *
 * @param input estimated tokens of its request
 */
export const withEstimates = (origin: Origin, input: () => number, content: readonly Block[]): Origin => {
  const { usage = {} } = origin
  if (inputOf(usage) > 0) return origin
  const output = tokensIn(usage, 'output_tokens') > 0 ? 0 : estimate(content)
  return { ...origin, estimated: { input: Math.round(input()), output } }
}

export const sumOfEstimates = (
  one: EstimatedUsage | undefined,
  other: EstimatedUsage | undefined,
): EstimatedUsage | undefined =>
  one && other ? { input: one.input + other.input, output: one.output + other.output } : (one ?? other)
