import { contentOf, type ConversationEvent } from '../events/events.ts'

/** Fields whose strings are not searchable text, such as types and encoded bytes. */
const unsaid = new Set(['type', 'signature', 'encrypted_content', 'cache_control', 'media_type'])

/**
 * Returns the searchable texts of an event, in order: its system prompt, and every text in the blocks of its messages, including the
 * names and ids of tool calls and results. Excludes pictures, files, signatures and encrypted content.
 */
export const textsOf = (event: ConversationEvent): readonly string[] => {
  const texts: string[] = []
  const open: unknown[] =
    event.type === 'Configured'
      ? [event.data.system]
      : contentOf(event)
          .flatMap(({ content }) => content)
          .toReversed()
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value === 'string') texts.push(value)
    // One by one, because a list may have more elements than a call can have arguments.
    else if (typeof value === 'object' && value !== null)
      for (const inner of saidIn(value).toReversed()) open.push(inner)
  }
  return texts
}

const saidIn = (value: object): readonly unknown[] => {
  if (Array.isArray(value)) return value
  const { type } = value as { readonly type?: unknown }
  const isOpaque = type === 'base64' || type === 'redacted_thinking'
  return Object.entries(value).flatMap(([field, inner]) =>
    unsaid.has(field) || (isOpaque && field === 'data') ? [] : [inner as unknown],
  )
}

/**
 * Folds the case of a text without changing its length. Converts each character to lower case, unless its lower-case form takes several
 * characters (`İ` stays), and final sigma to plain sigma. Keeps accents.
 */
export const fold = (text: string): string => {
  const lower = text.toLowerCase()
  const same = lower.length === text.length ? lower : Array.from(text, lowerOf).join('')
  return same.replaceAll('ς', 'σ')
}
const lowerOf = (character: string): string => {
  const lower = character.toLowerCase()
  return lower.length === character.length ? lower : character
}

/** A match and the text around it. */
export interface Excerpt {
  readonly before: string
  readonly match: string
  readonly after: string
}

/** Numbers of characters that an excerpt shows before and after the match. */
const around = { before: 60, after: 120 }

/**
 * Returns the first match of a text in an event; undefined if there is no match.
 *
 * @param wanted text to find, with its case folded by `fold`
 */
export const excerptOf = (event: ConversationEvent, wanted: string): Excerpt | undefined => {
  for (const text of textsOf(event)) {
    const excerpt = excerptIn(text, wanted)
    if (excerpt) return excerpt
  }
  return undefined
}

/**
 * Returns the first match of a text in another text; undefined if there is no match.
 *
 * @param wanted text to find, with its case folded by `fold`
 */
export const excerptIn = (text: string, wanted: string): Excerpt | undefined => {
  const at = fold(text).indexOf(wanted)
  if (at < 0) return undefined
  const end = at + wanted.length
  const start = wholeFrom(text, at - around.before)
  return {
    before: text.slice(start, at),
    match: text.slice(at, end),
    after: text.slice(end, wholeFrom(text, end + around.after)),
  }
}

/** Returns the first case-insensitive match of a text in an event or another text; undefined if there is no match. */
export const firstMatchIn = (said: ConversationEvent | string, text: string): Excerpt | undefined =>
  typeof said === 'string' ? excerptIn(said, fold(text)) : excerptOf(said, fold(text))

/** Returns `at`, or the next index if `at` would split a surrogate pair. The result is at least 0. */
const wholeFrom = (text: string, at: number): number => {
  const code = text.charCodeAt(at)
  return at <= 0 ? 0 : code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}
