import * as E from 'fp-ts/lib/Either.js'
import { isBlock } from '../../../events/blocks.ts'
import type { Origin } from '../../../events/events.ts'
import { summaryFailed, type SummaryFailed } from './errors.ts'
import type { Reply } from '../../models/model.ts'

/** Stop reasons of complete replies. A missing stop reason counts as complete, because a `Model` returns only complete replies. */
const wholeStops: ReadonlySet<unknown> = new Set(['end_turn', 'stop_sequence', undefined])

const advice: Readonly<Record<string, string>> = {
  max_tokens: 'the summary is longer than maxTokens: allow more, or ask for a shorter one',
  refusal: 'the model refused to summarize: use another model or other instructions, or truncate',
}

/** Returns the texts of a complete summary, at least one and none of them blank; otherwise `SummaryFailed`. */
export const textsOf = ({ content, origin }: Reply): E.Either<SummaryFailed, readonly string[]> => {
  const { stopReason } = origin
  if (!wholeStops.has(stopReason)) {
    const reason = String(stopReason)
    const other = `the model stopped (${reason}) before the summary was complete: try again, or truncate`
    return E.left(summaryFailed(reason, advice[reason] ?? other))
  }
  const texts = content.flatMap((block) =>
    isBlock(block, 'text') && isVisible(block.text) ? [block.text] : [],
  )
  const blank = 'the model answered without text: try again with other instructions, or truncate'
  return texts.length > 0 ? E.right(texts) : E.left(summaryFailed('blank', blank))
}

/** Reports whether a text is not blank, because requests may not contain blank texts. */
export const isVisible = (text: string): boolean => text.trim() !== ''

type Usage = NonNullable<Origin['usage']>

/** Adds up the numbers of two usages at every depth; other values are taken from `other`. */
export const sumOfUsage = (one: Usage, other: Usage): Usage => {
  const entries = Object.entries(other).map(([key, value]): readonly [string, unknown] => {
    const before = one[key]
    if (typeof value === 'number' && typeof before === 'number') return [key, before + value]
    return [key, isUsage(value) && isUsage(before) ? sumOfUsage(before, value) : value]
  })
  return { ...one, ...Object.fromEntries(entries) }
}

const isUsage = (value: unknown): value is Usage =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
