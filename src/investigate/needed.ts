import type { Message } from '../events/event-types.ts'
import { configurationOf, type Effective, messagesOf } from '../projections/effective.ts'
import type { Entry } from '../projections/full.ts'
import { termsIn, termsOf, wordsOf } from './terms.ts'

/** Something that a reply names, and that only messages hold which were hidden when it was asked for. */
export interface Needed {
  /** A path, an identifier, an id or a number. */
  readonly term: string
  /** Positions of the hidden messages that hold it. */
  readonly hidden: readonly number[]
  /** Positions of the markers that hid them. */
  readonly by: readonly number[]
  /** Whether a summary that was shown names it. */
  readonly inSummary: boolean
}

/**
 * What an answer names that no message, and neither the system prompt nor the tools, showed. What no summary names comes first, then the
 * rarest.
 *
 * @param entries the full history that the answer was given in
 */
export const neededBut = (
  shown: Effective,
  entries: readonly Entry[],
  answer: readonly Message[],
): readonly Needed[] => {
  const hidden = entries.flatMap((entry) =>
    entry.kind === 'message' && (entry.status === 'condensed' || entry.status === 'truncated')
      ? [{ position: entry.position, by: entry.by, terms: termsOf(entry.content) }]
      : [],
  )
  if (hidden.length === 0) return []
  const { system, tools } = configurationOf(shown)
  const messages = shown.items.flatMap((item) => (item.kind === 'message' ? [item] : []))
  const known = [saidIn(messages), JSON.stringify([system, tools])].join('\n')
  const summaries = saidIn(shown.items.flatMap((item) => (item.kind === 'message' ? [] : messagesOf(item))))
  const needed = [...termsIn(saidIn(answer))]
    .filter((term) => !known.includes(term))
    .flatMap((term): readonly Needed[] => {
      const holders = hidden.filter(({ terms }) => terms.has(term))
      const by = [...new Set(holders.flatMap((holder) => holder.by ?? []))]
      const inSummary = summaries.includes(term)
      return holders.length === 0
        ? []
        : [{ term, hidden: holders.map(({ position }) => position), by, inSummary }]
    })
  // The name of a file is part of its path.
  return needed
    .filter(({ term }) => !needed.some((other) => other.term !== term && other.term.includes(term)))
    .toSorted((a, b) => Number(a.inSummary) - Number(b.inSummary) || a.hidden.length - b.hidden.length)
}

const saidIn = (messages: readonly Pick<Message, 'content'>[]): string =>
  messages.map(({ content }) => wordsOf(content)).join('\n')
