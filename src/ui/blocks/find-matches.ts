/** Half-open range of a match in a text, in characters. */
export interface MatchRange {
  readonly from: number
  readonly to: number
}

/** Maximum number of matches in one search. */
export const mostFound = 1_000

/** Finds the first 1,000 matches of a string in a text, ignoring case. */
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
