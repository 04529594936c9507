/** Where something was found in a text: from a character to before another one. */
export interface MatchRange {
  readonly from: number
  readonly to: number
}

/** No more places are counted. */
export const mostFound = 1_000

/** Where words are in a text, whatever their case, from its beginning: the first 1,000 places. */
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
