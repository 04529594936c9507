import type { Block } from '../../../events/blocks.ts'
import type { EstimatedUsage, Origin } from '../../../events/events.ts'
import { estimate } from './estimate.ts'
import { tokensIn } from '../../models/usage.ts'
import { inputOf } from './usage.ts'

/**
 * Adds estimates to a reply's origin where the endpoint did not report token counts.
 *
 * @param input returns the estimated tokens of the reply's request
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
