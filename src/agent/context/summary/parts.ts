import * as E from 'fp-ts/lib/Either.js'
import { callsOf, partedCalls } from '../../../commands/cuts.ts'
import type { Effective } from '../../../projections/effective.ts'
import { summaryFailed, type SummaryFailed } from './errors.ts'
import { estimate, estimatePrompt } from '../tokens/estimate.ts'
import { itemsLeft, requestOfSummary, type SummaryOptions } from '../../receipts/summary-request.ts'

/**
 * Chooses the content of the next request for a summary: the rest of the slice if it fits into `allowed` tokens, else as many of its
 * first items as fit, without separating a tool call from its result. If even the smallest such part does not fit, its longest texts
 * are cut, and then its pictures omitted.
 *
 * @param correction the factor of the estimates
 */
export const nextRequest = (
  effective: Effective,
  options: SummaryOptions,
  { allowed, correction }: { readonly allowed: number; readonly correction: number },
): E.Either<SummaryFailed, SummaryOptions> => {
  const fits = (tried: SummaryOptions): boolean => correction * estimateOfSummary(effective, tried) <= allowed
  if (fits(options)) return E.right(options)
  const through = (last: number): SummaryOptions => ({ ...options, covers: { ...options.covers, last } })
  const ends = endsOf(effective, options)
  let [low, high] = [0, ends.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(through(ends[middle] ?? 0))) low = middle
    else high = middle - 1
  }
  const part = through(ends[low] ?? options.covers.last)
  const shortest = fits(part) ? part : cutDowns(part, allowed).find(fits)
  return shortest ? E.right(shortest) : E.left(summaryFailed('too_large', tooLarge(part, allowed)))
}

export const estimateOfSummary = (effective: Effective, options: SummaryOptions): number => {
  const { system, tools, messages } = requestOfSummary(effective, options)
  const blocks = messages.flatMap(({ content }) => content)
  return estimatePrompt(system, tools) + estimate(blocks)
}

/** Returns the positions at which a part of the slice may end without separating a tool call from its result. */
const endsOf = (effective: Effective, options: SummaryOptions): readonly number[] => {
  const items = itemsLeft(effective, options)
  const calls = callsOf({ ...effective, items })
  const safe = items.slice(0, -1).filter((_, index) => partedCalls(calls, index + 1, 0).length === 0)
  return [...safe.map(({ position }) => position), options.covers.last]
}

/** Upper bound for the average number of characters per token. `fewestCharacters` is the length below which a text is useless. */
const charactersPerToken = 4
const fewestCharacters = 200

/** Returns options that cut the texts progressively shorter, first with pictures and then without them, in the order to try. */
const cutDowns = (part: SummaryOptions, allowed: number): readonly SummaryOptions[] =>
  [...new Set([part.images, false])].flatMap((images) => {
    const all: SummaryOptions[] = []
    for (
      let longest = Math.floor(charactersPerToken * allowed);
      longest >= fewestCharacters;
      longest = Math.floor(0.75 * longest)
    )
      all.push({ ...part, images, longest })
    return all
  })

const tooLarge = ({ covers, parts }: SummaryOptions, allowed: number): string =>
  `${parts ? `the content after position ${parts.at(-1)?.last}` : `the content from position ${covers.first}`} through ${covers.last} cannot be shortened to ${Math.floor(allowed)} tokens, the limit for a summary request: summarize with a model that has a larger window, or truncate`
