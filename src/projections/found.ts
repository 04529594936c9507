import { contentOf, type ConversationEvent } from '../events/events.ts'

/** Fields whose texts nobody has said or read: what they are, and bytes in letters. */
const unsaid = new Set(['type', 'signature', 'encrypted_content', 'cache_control', 'media_type'])

/**
 * What can be found in an event: every text in the blocks of its messages, also inside tool calls and results, with names and ids, and
 * its system prompt; not pictures and files, signatures and what is encrypted. In order.
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
    // One by one: a list may be longer than a call can have arguments.
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
 * A text in which upper and lower case are the same, of the same length: each character in lower case, unless that would be several (`İ`
 * stays), and the final sigma as any other. Accents stay.
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

/** What was found, and the text around it. */
export interface Excerpt {
  readonly before: string
  readonly match: string
  readonly after: string
}

/** Characters of an excerpt before and after what was found. */
const around = { before: 60, after: 120 }

/** The first place of a text in an event; undefined if it does not have it. @param wanted folded */
export const excerptOf = (event: ConversationEvent, wanted: string): Excerpt | undefined => {
  for (const text of textsOf(event)) {
    const excerpt = excerptIn(text, wanted)
    if (excerpt) return excerpt
  }
  return undefined
}

/** The first place of a text in another one. @param wanted folded */
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

/** Where a text is first in an event, or in another text, as it is but for upper and lower case; undefined if it is not in it. */
export const foundIn = (said: ConversationEvent | string, text: string): Excerpt | undefined =>
  typeof said === 'string' ? excerptIn(said, fold(text)) : excerptOf(said, fold(text))

/** A place that is not in the middle of a character. */
const wholeFrom = (text: string, at: number): number => {
  const code = text.charCodeAt(at)
  return at <= 0 ? 0 : code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}
