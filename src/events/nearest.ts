/** Maximum length of a name that is treated as a misspelling. */
const longest = 40

/** Describes an unknown field: suggests the known field that was probably meant, or lists all known fields. */
export const unknownField = (name: string, known: readonly string[]): string => {
  const meant = nearest(name, known)
  if (meant !== undefined) return `is unknown: did you mean ${meant}?`
  return known.length === 0
    ? 'is unknown: no options are accepted here'
    : `is unknown: expected one of ${known.join(', ')}`
}

/**
 * Returns the known name with the smallest edit distance, ignoring case; undefined if more than half of its letters would have to
 * change.
 */
export const nearest = (name: string, known: readonly string[]): string | undefined => {
  if (name.length > longest) return undefined
  const [best] = known
    .filter((one) => Math.abs(one.length - name.length) <= Math.max(1, one.length / 2))
    .map((one) => ({ one, changes: changesBetween(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ one, changes }) => changes <= Math.max(1, one.length / 2))
    .toSorted((a, b) => a.changes - b.changes)
  return best?.one
}

/** Counts the letters that must be inserted, deleted or replaced to turn one word into another (Levenshtein). */
const changesBetween = (from: string, to: string): number => {
  let before = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [row, letter] of Array.from(from).entries()) {
    const now = [row + 1]
    for (const [column, other] of Array.from(to).entries()) {
      const [left = 0, above = 0, diagonal = 0] = [now[column], before[column + 1], before[column]]
      now.push(Math.min(left + 1, above + 1, diagonal + (letter === other ? 0 : 1)))
    }
    before = now
  }
  return before.at(-1) ?? 0
}
