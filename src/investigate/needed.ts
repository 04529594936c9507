import type { Message } from '../events/event-types.ts'
import type { Configuration } from '../events/events.ts'
import { memo } from '../memo/memo.ts'
import { type Effective, type Item, messagesOf } from '../projections/effective.ts'
import type { Entry } from '../projections/full.ts'
import type { Outline } from '../projections/outline.ts'
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

/** A message that a marker hides. */
export interface Holder {
  readonly position: number
  readonly by?: number | undefined
}
/** The hidden messages that hold a term, in the order of their positions. */
export type HoldersOf = (term: string) => readonly Holder[]

/** @param entries a full history */
export const holdersIn = (entries: readonly Entry[]): HoldersOf => {
  const hidden = entries.flatMap((entry) =>
    entry.kind === 'message' && (entry.status === 'condensed' || entry.status === 'truncated') ? [entry] : [],
  )
  return (term) => hidden.filter(({ content }) => termsOf(content).has(term))
}

/**
 * What an answer names that no message, and neither the system prompt nor the tools, showed. What no summary names comes first, then the
 * rarest.
 *
 * @param holdersOf of the history that the answer was given in
 */
export const neededBut = (
  { items, outline }: Pick<Effective, 'items' | 'outline'>,
  holdersOf: HoldersOf,
  answer: readonly Message[],
): readonly Needed[] => {
  const messages = items.filter(({ kind }) => kind === 'message')
  const summaries = items.filter(({ kind }) => kind !== 'message')
  // Most answers name nothing that is hidden, and then what is shown is not looked at.
  const needed = [...termsIn(answer.map(saidIn).join('\n'))].flatMap((term): readonly Needed[] => {
    const holders = holdersOf(term)
    if (holders.length === 0 || isSaid(messages, term) || promptOf(outline)?.includes(term)) return []
    const by = [...new Set(holders.flatMap((holder) => holder.by ?? []))]
    return [{ term, hidden: holders.map(({ position }) => position), by, inSummary: isSaid(summaries, term) }]
  })
  // The name of a file is part of its path.
  return needed
    .filter(({ term }) => !needed.some((other) => other.term !== term && other.term.includes(term)))
    .toSorted((a, b) => Number(a.inSummary) - Number(b.inSummary) || a.hidden.length - b.hidden.length)
}

const wordsBy = memo((content: Message['content']) => wordsOf(content))
const saidIn = ({ content }: Pick<Message, 'content'>): string => wordsBy(content)

const isSaid = (items: readonly Item[], term: string): boolean =>
  items.some((item) => messagesOf(item).some((message) => saidIn(message).includes(term)))

const textOf = memo(({ system, tools }: Configuration) => JSON.stringify([system, tools]))
const promptOf = ({ configuration }: Outline): string | undefined => configuration && textOf(configuration)
