import { contentOf, type ConversationEvent } from '../events/events.ts'

/** Fields whose texts nobody has said or read: what they are, and bytes in letters. */
const unsaid = new Set(['type', 'signature', 'encrypted_content', 'cache_control', 'media_type'])

/**
 * What can be found in an event: every text in the blocks of its messages, also inside tool calls and results, with names and ids; not
 * pictures and files, signatures and what is encrypted. In order.
 */
export const textsOf = (event: ConversationEvent): readonly string[] => {
  const texts: string[] = []
  const open: unknown[] = contentOf(event)
    .flatMap(({ content }) => content)
    .toReversed()
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value === 'string') texts.push(value)
    // One by one: a list may be longer than a call can have arguments.
    else if (typeof value === 'object' && value !== null)
      for (const inner of saidIn(value).toReversed()) open.push(inner)
  }
  return texts
}

const saidIn = (value: object): readonly unknown[] => {
  if (Array.isArray(value)) return value
  const { type } = value as { readonly type?: unknown }
  const isOpaque = type === 'base64' || type === 'redacted_thinking'
  return Object.entries(value).flatMap(([field, inner]) =>
    unsaid.has(field) || (isOpaque && field === 'data') ? [] : [inner as unknown],
  )
}

/**
 * A text in which upper and lower case are the same, of the same length: each character in lower case, unless that would be several (`İ`
 * stays), and the final sigma as any other. Accents stay.
 */
export const fold = (text: string): string => {
  const lower = text.toLowerCase()
  const same = lower.length === text.length ? lower : Array.from(text, lowerOf).join('')
  return same.replaceAll('ς', 'σ')
}
const lowerOf = (character: string): string => {
  const lower = character.toLowerCase()
  return lower.length === character.length ? lower : character
}

/** How long what is looked for may be, in characters. */
export const shortestQuery = 3
export const longestQuery = 500
export const isSearchable = (text: string): boolean => {
  const { length } = Array.from(text)
  return length >= shortestQuery && length <= longestQuery
}

/** What SQLite takes for the end of a text is a space to the index. */
export const indexable = (folded: string): string => folded.replaceAll('\0', ' ')

/** The most trigrams of a query that the index is asked for: what has them all is looked at anyway. */
const mostTrigrams = 64

/** As FTS5 is asked for texts that have all trigrams of a folded text. */
export const matchOf = (folded: string): string => {
  const characters = Array.from(indexable(folded))
  const all = new Set(characters.slice(2).map((_, index) => characters.slice(index, index + 3).join('')))
  const step = Math.max(1, all.size / mostTrigrams)
  const some = [...all].filter((_, index) => index % step < 1)
  return some.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(' AND ')
}
