import type { Message } from '../events/event-types.ts'
import type { Configuration } from '../events/events.ts'
import { memo } from '../projections/memo.ts'
import { type Effective, type Item, messagesOf } from '../projections/effective.ts'
import type { Entry } from '../projections/full.ts'
import type { HistoryLayout } from '../projections/layout.ts'
import { mayContain } from './packed-log.ts'
import { lastPartOf, namesEndOf } from './path-ends.ts'
import { byDistinctness, termsOf, termsUsedIn, wordsOf } from './terms.ts'
import { createTextIndex } from './text-index.ts'

/** A term used in a reply that occurred only in hidden messages when the reply was requested. */
export interface HiddenTerm {
  /** The term: a path, an identifier, an id or a number. */
  readonly term: string
  /** Positions of the hidden messages that contain the term, in ascending order; the newest 20 if there are more. */
  readonly hidden: readonly number[]
  /** Positions of the markers that hid these messages. */
  readonly by: readonly number[]
  /** True if a visible summary contains the term or, of a path, its end. */
  readonly inSummary: boolean
}

/** A hidden message, with the position of the marker that hides it. */
export interface Holder {
  readonly position: number
  readonly by?: number | undefined
}
/** Maximum number of hidden messages that are named for a term. */
export const mostHolders = 20

/** Search for a term in the messages of a conversation at one position. */
export interface TermSearch {
  /** Returns the newest hidden messages that contain the term, newest first, up to a number of them. */
  readonly hiddenWith: (term: string, most: number) => readonly Holder[]
  /**
   * Reports whether a shown message contains the term, or, if `isMessage` is false, a summary. A path may be named by its end: in a
   * message with at least one folder, in a summary by the name of its file.
   */
  readonly isShown: (items: readonly Item[], term: string, isMessage: boolean) => boolean
}

/** Creates the search of the shown items. It indexes their texts, so that a search for the next term is fast. */
export const createShownSearch = (): TermSearch['isShown'] => {
  const texts = createTextIndex(textOf)
  return (items, term, isMessage) => {
    const isKind = ({ kind }: Item): boolean => (kind === 'message') === isMessage
    if (texts.contains(items, term, isKind)) return true
    const part = lastPartOf(term)
    return (
      part !== undefined &&
      texts.contains(items, part, (item) => isKind(item) && namesEndOf(term, textOf(item), !isMessage))
    )
  }
}

/**
 * Returns a search that reads the hidden messages again for each term.
 *
 * @param entries entries of the full history
 */
export const searchIn = (entries: readonly Entry[]): TermSearch => {
  const hidden = entries.filter(isHidden).toReversed()
  return {
    // The text search comes first, because it is much faster than finding all terms.
    hiddenWith: (term, most) =>
      hidden
        .values()
        .filter((entry) => mayContain(entry, term) && wordsOf(entry.content).includes(term))
        .filter(({ content }) => termsOf(content).has(term))
        .take(most)
        .toArray(),
    isShown: createShownSearch(),
  }
}

const isHidden = (entry: Entry): entry is Entry & { readonly kind: 'message' } =>
  entry.kind === 'message' && (entry.status === 'condensed' || entry.status === 'truncated')

/**
 * Finds the terms of an answer that occur in hidden messages but not in the shown messages, the system prompt or the tools. Terms
 * missing from every summary come first, then those in the fewest hidden messages, then the most distinct.
 *
 * @param search search at the position for which the answer was requested
 */
export const missingTerms = (
  { items, layout }: Pick<Effective, 'items' | 'layout'>,
  search: TermSearch,
  answer: readonly Message[],
): readonly HiddenTerm[] => {
  const needed = [...termsUsedIn(answer)].flatMap((term): readonly HiddenTerm[] => {
    if (search.isShown(items, term, true) || promptOf(layout)?.includes(term)) return []
    const newest = search.hiddenWith(term, mostHolders)
    if (newest.length === 0) return []
    const holders = newest.toReversed()
    const hidden = holders.map(({ position }) => position)
    const by = [...new Set(holders.flatMap((holder) => holder.by ?? []))]
    return [{ term, hidden, by, inSummary: search.isShown(items, term, false) }]
  })
  // Omits terms that are part of another needed term, as the name of a file is part of its path.
  return needed
    .filter(({ term }) => !needed.some((other) => other.term !== term && other.term.includes(term)))
    .toSorted(byRarity)
}

/** Compares terms: first those that no summary contains, then those in the fewest hidden messages, then the most distinct. */
export const byRarity = (a: HiddenTerm, b: HiddenTerm): number =>
  Number(a.inSummary) - Number(b.inSummary) ||
  a.hidden.length - b.hidden.length ||
  byDistinctness(a.term, b.term)

const saidIn = ({ content }: Pick<Message, 'content'>): string => wordsOf(content)

/** Returns the text of an item in which terms are searched for. */
const textOf = (item: Item): string => messagesOf(item).map(saidIn).join('\n')

const promptText = memo(({ system, tools }: Configuration) => JSON.stringify([system, tools]))

/** Returns the current system prompt and tools as text; undefined if nothing was ever configured. */
export const promptOf = ({ configuration }: HistoryLayout): string | undefined =>
  configuration && promptText(configuration)
