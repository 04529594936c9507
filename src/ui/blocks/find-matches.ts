/** Place of a match in a text: a half-open range of characters. */
export interface MatchRange {
  readonly from: number
  readonly to: number
}

/** Maximum number of places counted. */
export const mostFound = 1_000

/** Finds words in a text, case-insensitively: the first 1,000 places. */
export const placesOf = (text: string, words: string): readonly MatchRange[] => {
  if (words === '') return []
  const places: MatchRange[] = []
  for (const { 0: match, index } of text.matchAll(new RegExp(escaped(words), 'giu'))) {
    places.push({ from: index, to: index + match.length })
    if (places.length === mostFound) break
  }
  return places
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
