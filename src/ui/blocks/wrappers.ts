// Parts of a text that a program has put between tags, such as `<system-reminder>`.

/** Part of a text between two tags. */
export interface WrappedText {
  readonly tag: string
  readonly text: string
  /** True if the text was cut before the closing tag. */
  readonly isCut: boolean
}

/** Maximum number of wrapped parts that are found in a text. */
const most = 50

const opening = /<([a-z][a-z\d]*(?:[-_][a-z\d]+)+)>/g

/**
 * Splits a text into its wrapped parts and the text between them. A tag counts if it has several words, begins a line or follows a wrapped
 * part, and is not in a fenced block of code.
 *
 * @param isCut true if the text continues, so that a part may lack its closing tag
 */
export const wrappedParts = (text: string, isCut = false): readonly (string | WrappedText)[] => {
  const parts: (string | WrappedText)[] = []
  let from = 0
  let found = 0
  opening.lastIndex = 0
  for (let match = opening.exec(text); match && found < most; match = opening.exec(text)) {
    const [whole, tag = ''] = match
    const before = text.slice(from, match.index)
    if (!/(?:^|\n)[ \t]*$/.test(before) && !(before.trim() === '' && found > 0)) continue
    if ((before.match(/^[ \t]*(?:```|~~~)/gm)?.length ?? 0) % 2 === 1) continue
    const start = match.index + whole.length
    const end = text.indexOf(`</${tag}>`, start)
    found++
    if (end < 0 && !isCut) continue
    if (before.trim() !== '') parts.push(before.trim())
    parts.push({ tag, text: text.slice(start, end < 0 ? undefined : end).trim(), isCut: end < 0 })
    from = end < 0 ? text.length : end + tag.length + 3
    opening.lastIndex = from
  }
  const rest = text.slice(from)
  if (parts.length === 0) return [text]
  return rest.trim() === '' ? parts : [...parts, rest.trim()]
}

/** Returns the most telling line of a wrapped text: its summary if it names one, else its first line, without tags. */
export const gistOf = ({ text }: WrappedText): string => {
  const [, summary] = /<summary>([^<]{1,300})<\/summary>/.exec(text.slice(0, 4_000)) ?? []
  const line =
    summary ??
    text
      .slice(0, 300)
      .replaceAll(/<\/?[\w-]+>/g, ' ')
      .trim()
      .split('\n')[0] ??
    ''
  return line.replaceAll(/\s+/g, ' ').trim()
}
