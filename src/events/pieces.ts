const backslash = 0x5c
const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
/** Length of the longest JSON escape: backslash, `u`, four digits. */
const longestEscape = 6

/**
 * Splits a JSON text, or the text between the quotes of one of its strings, into pieces of at most `size` characters, in order. No
 * surrogate pair and no escape is split.
 */
export function* piecesOf(text: string, size: number): Generator<string, void> {
  for (let from = 0; from < text.length;) {
    const to = from + size < text.length ? boundary(text, from, from + size) : text.length
    yield text.slice(from, to)
    from = to
  }
}

/** Returns the last boundary up to `to` that is not inside a surrogate pair or an escape. `from` must not be inside one either. */
const boundary = (text: string, from: number, to: number): number => {
  let last = to - 1
  while (last > to - longestEscape && text.charCodeAt(last) !== backslash) last--
  if (text.charCodeAt(last) === backslash && beginsEscape(text, from, last)) {
    const length = text[last + 1] === 'u' ? longestEscape : 2
    if (last + length > to) return last
  }
  return isHighSurrogate(text.charCodeAt(to - 1)) ? to - 1 : to
}

/**
 * Reports whether the backslash at `at` begins an escape, that is, is not itself escaped. `from` must be at or before the run of
 * backslashes, and not inside an escape.
 */
export const beginsEscape = (text: string, from: number, at: number): boolean => {
  let run = at
  while (run > from && text.charCodeAt(run - 1) === backslash) run--
  return (at - run) % 2 === 0
}
