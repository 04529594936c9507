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
