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
export interface TermHolders {
  /** Whether there may be any: quick to tell. */
  readonly mayHave: (term: string) => boolean
  readonly of: (term: string) => readonly Holder[]
}

/** @param entries a full history */
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
 * What an answer names that no message, and neither the system prompt nor the tools, showed. What no summary names comes first, then the
 * rarest.
 *
 * @param holders of the history that the answer was given in
 */
export const neededBut = (
  { items, outline }: Pick<Effective, 'items' | 'outline'>,
  holders: TermHolders,
  answer: readonly Message[],
): readonly Needed[] => {
  // Most answers name nothing that is hidden, and then what is shown is not looked at.
  let [messages, summaries]: (readonly Searched[] | undefined)[] = []
  const needed = [...termsIn(answer.map(saidIn).join('\n'))].flatMap((term): readonly Needed[] => {
    if (
      !holders.mayHave(term) ||
      isSaid((messages ??= searchedIn(items, true)), term) ||
      promptOf(outline)?.includes(term)
    )
      return []
    const hidden = holders.of(term)
    if (hidden.length === 0) return []
    const by = [...new Set(hidden.flatMap((holder) => holder.by ?? []))]
    const inSummary = isSaid((summaries ??= searchedIn(items, false)), term)
    return [{ term, hidden: hidden.map(({ position }) => position), by, inSummary }]
  })
  // The name of a file is part of its path.
  return needed
    .filter(({ term }) => !needed.some((other) => other.term !== term && other.term.includes(term)))
    .toSorted((a, b) => Number(a.inSummary) - Number(b.inSummary) || a.hidden.length - b.hidden.length)
}

const saidIn = ({ content }: Pick<Message, 'content'>): string => wordsOf(content)

/** A message, and the trigrams of what it says. */
interface Searched {
  readonly message: Message
  readonly grams: Uint32Array
}

const searchedIn = (items: readonly Item[], isMessage: boolean): readonly Searched[] =>
  items.flatMap((item) =>
    (item.kind === 'message') === isMessage
      ? messagesOf(item).map((message) => ({ message, grams: gramsBy(message.content) }))
      : [],
  )

/** The newest first: what an answer names was mostly said just before. */
const isSaid = (searched: readonly Searched[], term: string): boolean => {
  const wanted = gramsIn(term)
  const isIn = ({ message, grams }: Searched): boolean =>
    wanted.every((gram) => (grams[gram >> 5] ?? 0) & (1 << (gram & 31))) && saidIn(message).includes(term)
  return searched.findLast(isIn) !== undefined
}

/** Bits of the set of a text's trigrams. */
const bits = 2_048

/** The trigrams of a text, as numbers below `bits`: others may have the same one. */
const gramsIn = (text: string): readonly number[] =>
  Array.from({ length: Math.max(0, text.length - 2) }, (_, at) => gramAt(text, at))

const gramAt = (text: string, at: number): number =>
  (text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) % bits

/** Which trigrams a message has, at least: a text with another one is not in it, which takes less to tell than to look for it. */
const gramsBy = memo((content: Message['content']) => {
  const text = wordsOf(content)
  const own = new Uint32Array(bits / 32)
  for (let at = 0; at + 2 < text.length; at++) {
    const gram = gramAt(text, at)
    own[gram >> 5] = (own[gram >> 5] ?? 0) | (1 << (gram & 31))
  }
  return own
})

const textOf = memo(({ system, tools }: Configuration) => JSON.stringify([system, tools]))
const promptOf = ({ configuration }: Outline): string | undefined => configuration && textOf(configuration)
