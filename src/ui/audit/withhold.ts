// Parsers for the fields of the evidence form.

/** Parses positions and ranges separated by commas or spaces: `12, 15-17`. Returns undefined for invalid text. */
export const positionsIn = (text: string, last: number): readonly number[] | undefined => {
  const found = new Set<number>()
  for (const part of text.split(/[\s,]+/).filter((one) => one !== '')) {
    const [, from, to = from] = /^(\d{1,9})(?:(?:-|–|\.\.)(\d{1,9}))?$/.exec(part) ?? []
    if (from === undefined || Number(to) < Number(from) || Number(to) > last) return undefined
    for (let position = Number(from); position <= Number(to); position++) found.add(position)
  }
  return [...found].toSorted((one, other) => one - other)
}

/** Formats positions as sorted ranges: `12, 15-17`. */
export const rangesOf = (positions: readonly number[]): string => {
  const ranges: [from: number, to: number][] = []
  for (const position of [...new Set(positions)].toSorted((one, other) => one - other)) {
    const last = ranges.at(-1)
    if (last && last[1] === position - 1) last[1] = position
    else ranges.push([position, position])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}

/** Parses a range of calls: `3..7`, `3-7` or `3`. Returns null for empty text, which means all calls, and undefined for invalid text. */
export const callsIn = (
  text: string,
): { readonly first: number; readonly last: number } | null | undefined => {
  if (text.trim() === '') return null
  const [, first, last = first] =
    /^([1-9]\d{0,8})(?:\s*(?:-|–|\.\.)\s*([1-9]\d{0,8}))?$/.exec(text.trim()) ?? []
  if (first === undefined || Number(last) < Number(first)) return undefined
  return { first: Number(first), last: Number(last) }
}
