import type { Message } from '../events/event-types.ts'
import type { Configuration } from '../events/events.ts'
import { createListMap, memo } from '../projections/memo.ts'
import { type Effective, type Item, messagesOf } from '../projections/effective.ts'
import type { Entry } from '../projections/full.ts'
import type { Outline } from '../projections/outline.ts'
import { termsIn, termsOf, wordsOf } from './terms.ts'

/** A term in a reply that only hidden messages contained when the reply was requested. */
export interface HiddenTerm {
  /** The term: a path, an identifier, an id or a number. */
  readonly term: string
  /** Positions of the hidden messages that contain the term. */
  readonly hidden: readonly number[]
  /** Positions of the markers that hid these messages. */
  readonly by: readonly number[]
  /** True if a visible summary contains the term. */
  readonly inSummary: boolean
}

/** A hidden message, with the position of the marker that hides it. */
export interface Holder {
  readonly position: number
  readonly by?: number | undefined
}
/** Lookup of the hidden messages that contain a term, in the order of their positions. */
export interface TermHolders {
  /** Reports whether hidden messages may contain the term. This quick check is false if a shown message is known to contain it. */
  readonly mayHave: (term: string) => boolean
  readonly of: (term: string) => readonly Holder[]
}

/**
 * Finds hidden messages by the terms in them.
 *
 * @param entries entries of the full history
 */
export const holdersIn = (entries: readonly Entry[]): TermHolders => {
  const hidden = entries.flatMap((entry) =>
    entry.kind === 'message' && (entry.status === 'condensed' || entry.status === 'truncated') ? [entry] : [],
  )
  return {
    mayHave: () => hidden.length > 0,
    // To find a text takes much less time than to find all terms.
    of: (term) =>
      hidden.filter(({ content }) => wordsOf(content).includes(term) && termsOf(content).has(term)),
  }
}

/**
 * Finds the terms of an answer that hidden messages contain but neither the shown messages nor the system prompt nor the tools. Terms
 * missing from every summary come first, then those in the fewest hidden messages.
 *
 * @param holders lookup for the history at which the answer was requested
 */
export const missingTerms = (
  { items, outline }: Pick<Effective, 'items' | 'outline'>,
  holders: TermHolders,
  answer: readonly Message[],
): readonly HiddenTerm[] => {
  const needed = [...termsIn(answer.map(saidIn).join('\n'))].flatMap((term): readonly HiddenTerm[] => {
    if (!holders.mayHave(term) || isSaid(items, true, term) || promptOf(outline)?.includes(term)) return []
    const hidden = holders.of(term)
    if (hidden.length === 0) return []
    const by = [...new Set(hidden.flatMap((holder) => holder.by ?? []))]
    return [
      { term, hidden: hidden.map(({ position }) => position), by, inSummary: isSaid(items, false, term) },
    ]
  })
  // The name of a file is part of its path.
  return needed
    .filter(({ term }) => !needed.some((other) => other.term !== term && other.term.includes(term)))
    .toSorted((a, b) => Number(a.inSummary) - Number(b.inSummary) || a.hidden.length - b.hidden.length)
}

const saidIn = ({ content }: Pick<Message, 'content'>): string => wordsOf(content)

/**
 * Reports whether a shown message contains the term, or, if `isMessage` is false, a summary. Searches the newest items first, because
 * an answer mostly repeats recent terms.
 */
const isSaid = (items: readonly Item[], isMessage: boolean, term: string): boolean => {
  const grams = rememberedGrams(items, gramsBy)
  const wanted = gramsIn(term)
  for (let index = items.length - 1; index >= 0; index--) {
    const [item, own] = [items[index], grams[index]]
    if (
      item &&
      own &&
      (item.kind === 'message') === isMessage &&
      hasAll(own, wanted) &&
      wordsBy(item).includes(term)
    )
      return true
  }
  return false
}

const wordsBy = (item: Item): string => messagesOf(item).map(saidIn).join('\n')

/** Number of bits in a bit set of trigrams. */
const bits = 2_048

/** Returns the trigrams of a text as numbers below `bits`; different trigrams may share a number. */
const gramsIn = (text: string): readonly number[] =>
  Array.from({ length: Math.max(0, text.length - 2) }, (_, at) => gramAt(text, at))

const gramAt = (text: string, at: number): number =>
  (text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) % bits

/**
 * Returns the bit set of an item's trigrams. An item that lacks one of a term's trigrams cannot contain the term, which is faster to
 * check than searching the text.
 */
const gramsBy = (item: Item): Uint32Array => {
  const text = wordsBy(item)
  const own = new Uint32Array(bits / 32)
  for (let at = 0; at + 2 < text.length; at++) {
    const gram = gramAt(text, at)
    own[gram >> 5] = (own[gram >> 5] ?? 0) | (1 << (gram & 31))
  }
  return own
}
const rememberedGrams = createListMap<Item, Uint32Array>()

const hasAll = (own: Uint32Array, grams: readonly number[]): boolean => {
  for (const gram of grams) if (!((own[gram >> 5] ?? 0) & (1 << (gram & 31)))) return false
  return true
}

const textOf = memo(({ system, tools }: Configuration) => JSON.stringify([system, tools]))

/** Returns the current system prompt and tools as text; undefined if nothing was ever configured. */
export const promptOf = ({ configuration }: Outline): string | undefined =>
  configuration && textOf(configuration)
