import * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../store/conversation.ts'
import type { WriteError } from '../store/errors.ts'
import type { Written } from '../store/write.ts'
import { type ContextGrew, type NothingNew, summaryFailed } from './errors.ts'
import { abortedBy, whenAborted } from './aborted.ts'
import { checkCondensed } from './policy.ts'
import type { Summarized, Summarizer, SummaryError, SummaryInput } from './summarizer.ts'

export interface CondenseStep extends SummaryInput {
  readonly summarizer: Summarizer
  /** Writes the condense: `condense` of the conversation that `effective` is of. */
  readonly condense: Conversation['condense']
  /** `markers`: markers and restores that came since are no reason to refuse. */
  readonly tolerate?: 'markers'
}
export type CondenseError = SummaryError | NothingNew | ContextGrew | WriteError

/**
 * Condenses a slice: asks for a summary and records it, if it is smaller than what it stands for and nothing was written since
 * `effective.at` (else `StaleContext`). Whatever fails, nothing is written; `NothingNew` is known before anyone is asked.
 */
export const condenseWith = async (step: CondenseStep): Promise<E.Either<CondenseError, Written>> => {
  const { effective, covers, signal, condense, tolerate } = step
  const worth = checkCondensed(effective, covers, [])
  if (E.isLeft(worth)) return worth
  const summarized = await asked(step.summarizer, { effective, covers, ...(signal && { signal }) })
  if (E.isLeft(summarized)) return summarized
  const { blocks, origin } = summarized.right
  const smaller = checkCondensed(effective, covers, [{ role: 'user', content: blocks }])
  if (E.isLeft(smaller)) return smaller
  return condense({
    covers,
    summary: blocks,
    method: 'model',
    ...(origin && { origin }),
    after: effective.at,
    ...(tolerate && { tolerate }),
  })()
}

/** Anyone's summarizer may throw. */
const asked = async (
  summarizer: Summarizer,
  input: SummaryInput,
): Promise<E.Either<SummaryError, Summarized>> => {
  try {
    const { signal } = input
    const answer = await Promise.race([summarizer(input), ...(signal ? [whenAborted(signal)] : [])])
    return '_tag' in answer ? answer : E.right(answer)
  } catch (cause) {
    if (input.signal?.aborted) return E.left(abortedBy(input.signal))
    const message = `the summarizer threw (${String(cause)}): mend it, or truncate`
    return E.left(summaryFailed('threw', message, cause))
  }
}
