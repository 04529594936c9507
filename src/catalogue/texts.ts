/** Minimum length of a query, in characters. */
export const shortestQuery = 3
export const longestQuery = 500
export const isSearchable = (text: string): boolean => {
  const { length } = Array.from(text)
  return length >= shortestQuery && length <= longestQuery
}

/** Replaces NUL with a space, because SQLite treats NUL as the end of a text. */
export const indexable = (folded: string): string => folded.replaceAll('\0', ' ')

/**
 * Maximum number of trigrams of a query looked up in the index. More are not needed, because the text of every candidate is checked in
 * any case.
 */
const mostTrigrams = 64

/** Returns the FTS5 query for texts that contain the trigrams of a folded text, or `mostTrigrams` of them if it has more. */
export const matchOf = (folded: string): string => {
  const characters = Array.from(indexable(folded))
  const all = new Set(characters.slice(2).map((_, index) => characters.slice(index, index + 3).join('')))
  const step = Math.max(1, all.size / mostTrigrams)
  const some = [...all].filter((_, index) => index % step < 1)
  return some.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(' AND ')
}
