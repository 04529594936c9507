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

/**
 * Returns the known id that was probably meant by an id that does not exist: one that differs only in case or separators, the only one
 * that begins with it, or one that differs by a slip of the keyboard. Ids of a series, which differ only after a digit (`task-41`, `task-42`), are no slips; random UUIDs are never
 * that similar by chance.
 */
export const meantId = (id: string, known: readonly string[]): string | undefined => {
  const same = known.find((one) => lettersOf(one) === lettersOf(id))
  if (same !== undefined) return same
  const others = known.filter((one) => !isSeries(id, one))
  const begun = id.length < shortest ? [] : others.filter((one) => one.startsWith(id))
  const main = begun.find((one) => begun.every((other) => other === one || other.startsWith(`${one}:`)))
  return main ?? others.find((one) => isSlip(id, one)) ?? meantUuid(id, known)
}

/** Returns the known UUID whose beginning was probably meant by a text, which differs from it by a slip of the keyboard. */
export const meantUuid = (text: string, known: readonly string[]): string | undefined =>
  /^[0-9a-f]{8}[0-9a-f-]*$/i.test(text)
    ? known.find((one) => uuid.test(one) && isSlip(text, one.slice(0, text.length)))
    : undefined

/** Minimum length of an id that is treated as the beginning of another one. */
const shortest = 3
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-/i

const isSeries = (id: string, other: string): boolean => !uuid.test(other) && stemOf(id) === stemOf(other)
const stemOf = (id: string): string => id.replaceAll(/[-_.:]?\d[0-9a-z]*/gi, '').toLowerCase()

/** Returns an id without case and separators, except those between two numbers (`1-1` is not `11`). */
const lettersOf = (id: string): string => id.replaceAll(/(?<!\d)[-_.:]|[-_.:](?!\d)/g, '').toLowerCase()

const isSlip = (id: string, other: string): boolean => {
  const most = other.length < 4 ? 0 : other.length < 8 ? 1 : 2
  if (id.length > longest || Math.abs(id.length - other.length) > most) return false
  const [one, two] = [id.toLowerCase(), other.toLowerCase()]
  return changesBetween(one, two) <= most || (most > 0 && isSwapped(one, two))
}

/** Reports whether two words differ only in the order of two neighbouring letters. */
const isSwapped = (one: string, two: string): boolean => {
  const at = Array.from(one).findIndex((letter, index) => letter !== two[index])
  return at >= 0 && one.slice(0, at) + one[at + 1] + one[at] + one.slice(at + 2) === two
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
