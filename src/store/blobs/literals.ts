import { beginsEscape } from '../../events/pieces.ts'

/** A string of a JSON text: the text between its quotes is `text.slice(from, to)`. */
export interface Literal {
  readonly from: number
  readonly to: number
  /** Length of the text between the quotes, in UTF-8 bytes. */
  readonly bytes: number
}

/**
 * Returns the strings of a JSON text, including keys, that have more than `bytes` bytes between the quotes, in order. Omits strings
 * with an unescaped lone surrogate, which UTF-8 cannot represent.
 */
export const literalsOver = (text: string, bytes: number): readonly Literal[] => {
  const found: Literal[] = []
  for (let open = text.indexOf('"'); open >= 0;) {
    const from = open + 1
    const to = endOf(text, from)
    if (to < 0) break
    const literal = (to - from) * 3 > bytes ? literalAt(text, from, to) : undefined
    if (literal && literal.bytes > bytes) found.push(literal)
    open = text.indexOf('"', to + 1)
  }
  return found
}

const literalAt = (text: string, from: number, to: number): Literal | undefined => {
  const inner = text.slice(from, to)
  return inner.isWellFormed() ? { from, to, bytes: Buffer.byteLength(inner) } : undefined
}

/** Returns the index of the closing quote of the string that begins at `from`; -1 if the string is not closed. */
const endOf = (text: string, from: number): number => {
  let at = text.indexOf('"', from)
  // An escaped quote is one after a backslash that begins an escape.
  while (at > from && text[at - 1] === '\\' && beginsEscape(text, from, at - 1))
    at = text.indexOf('"', at + 1)
  return at
}
