// Unmodified text: invisible characters are named, long texts are collapsed, and very long texts are laid out in pieces.

/** Visible text, or the name of a character that would be invisible or would change the direction of the text around it. */
export type ExactPiece = string | { readonly name: string }

// Control characters except tab and newline, separators, and what Unicode says to draw as nothing: soft hyphens, direction marks,
// zero-width characters, fillers, variation selectors and tag characters.
const invisible =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\uFFF9-\uFFFB\p{Default_Ignorable_Code_Point}]/gu

const known: Readonly<Record<string, string>> = {
  '\u0000': 'NUL',
  '\u0007': 'BEL',
  '\u0008': 'BS',
  '\r': 'CR',
  '\u001B': 'ESC',
  '\u007F': 'DEL',
  '\u200B': 'ZWSP',
  '\u200C': 'ZWNJ',
  '\u200D': 'ZWJ',
  '\u200E': 'LRM',
  '\u200F': 'RLM',
  '\u202A': 'LRE',
  '\u202B': 'RLE',
  '\u202C': 'PDF',
  '\u202D': 'LRO',
  '\u202E': 'RLO',
  '\u2066': 'LRI',
  '\u2067': 'RLI',
  '\u2068': 'FSI',
  '\u2069': 'PDI',
  '\uFEFF': 'BOM',
}

/**
 * Splits a text at its invisible characters, which are replaced by their names. Joiners are kept inside emoji and in letters of scripts
 * that need them, and variation selectors after the characters that have variants.
 */
export const exact = (text: string): readonly ExactPiece[] => {
  const pieces: ExactPiece[] = []
  let from = 0
  for (const { 0: character, index } of text.matchAll(invisible)) {
    if (character === '\r' && text[index + 1] === '\n') continue
    if (isJoiner(character) && isJoined(text, index)) continue
    if (
      variants.some(([selector, base]) => selector.test(character) && base.test(characterBefore(text, index)))
    )
      continue
    if (index > from) pieces.push(text.slice(from, index))
    pieces.push({ name: nameOf(character) })
    from = index + character.length
  }
  if (from < text.length) pieces.push(text.slice(from))
  return pieces
}

/** Reports whether `exact` would name a character of a text. */
export const hasInvisible = (text: string): boolean =>
  text.search(invisible) >= 0 && exact(text).some((piece) => typeof piece !== 'string')

/** Returns a text with the names of its invisible characters in brackets, for titles and attributes. */
export const plain = (text: string): string =>
  exact(text)
    .map((piece) => (typeof piece === 'string' ? piece : `[${piece.name}]`))
    .join('')

/** Variation selectors, and the characters after which they are part of the text. */
const variants = [
  [/[\uFE0E\uFE0F]/u, /\p{Emoji}/u],
  [/[\uFE00-\uFE02\u{E0100}-\u{E01EF}]/u, /\p{Ideographic}|\p{Math}/u],
  [/[\u180B-\u180F]/u, /\p{Script=Mongolian}/u],
] as const

const characterBefore = (text: string, index: number): string => {
  const pair = String.fromCodePoint(text.codePointAt(index - 2) ?? 0)
  return pair.length === 2 ? pair : (text[index - 1] ?? '')
}

const isJoiner = (character: string): boolean => character === '\u200D' || character === '\u200C'
const joined =
  /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}]/u
const isJoined = (text: string, index: number): boolean => {
  const after = text.slice(index + 1, index + 3)
  return joined.test(after) && joined.test(characterBefore(text, index))
}

const nameOf = (character: string): string => {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return known[character] ?? `U+${hex}`
}

/** Number of characters shown of a collapsed text. */
export const clampLength = 700
/**
 * Number of characters by which a text may exceed the limit and still be shown in full. Hiding fewer characters would only annoy the
 * user.
 */
const slack = 100

/** Returns the first `most` characters of a long text, without splitting a character; undefined for a text that is shown in full. */
export const clamp = (text: string, most = clampLength): string | undefined => {
  if (text.length <= most + slack) return undefined
  const isSplit = /[\uD800-\uDBFF]/.test(text[most - 1] ?? '')
  return text.slice(0, isSplit ? most - 1 : most)
}

const chunkLength = 16 * 1024
const chunkLines = 500

/**
 * Splits a text into pieces of at most 16,384 characters or 500 lines, which a browser can lay out separately. Joining the pieces
 * yields the original text.
 */
export const chunks = (text: string): readonly string[] => {
  const found: string[] = []
  for (let from = 0; from < text.length;) {
    const to = endOf(text, from)
    found.push(text.slice(from, to))
    from = to
  }
  return found
}

const endOf = (text: string, from: number): number => {
  const most = Math.min(from + chunkLength, text.length)
  let end = from
  for (let lines = 0; lines < chunkLines; lines++) {
    const newline = text.indexOf('\n', end)
    if (newline < 0 || newline >= most) break
    end = newline + 1
    if (lines === chunkLines - 1) return end
  }
  if (most === text.length) return most
  if (end > from) return end
  return /[\uD800-\uDBFF]/.test(text[most - 1] ?? '') ? most - 1 : most
}

/** Describes a text that is empty or blank; undefined for any other text. */
export const blank = (text: string): string | undefined => {
  if (text === '') return 'empty'
  if (text.trim() !== '') return undefined
  return text.length === 1 ? '1 blank character' : `${text.length} blank characters`
}
