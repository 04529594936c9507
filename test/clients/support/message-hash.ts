import { createHash } from 'node:crypto'

// The hashes by which Claude Code's session files name the messages of a request, and its system prompt and tools.

export type Json = string | number | boolean | null | readonly Json[] | { readonly [field: string]: Json }
export type Fields = { readonly [field: string]: Json }

export const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns the hash of a value, in which the order of fields does not count. */
export const digest = (value: Json): string =>
  sha(
    JSON.stringify(value, (_, each: Json) =>
      isFields(each)
        ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
        : each,
    ),
  )

export const withoutBreakpoints = (value: Fields): Fields =>
  JSON.parse(
    JSON.stringify(value, (field, each: unknown) => (field === 'cache_control' ? undefined : each)),
  ) as Fields

/** Returns the forms of a message that are hashed: a single text may be a string or a block. */
export const formsOf = (message: Fields): readonly Fields[] => {
  const { content } = message
  if (typeof content === 'string')
    return [message, { ...message, content: [{ type: 'text', text: content }] }]
  const [only, ...more] = Array.isArray(content) ? (content as readonly Json[]) : []
  const isText = isFields(only) && only['type'] === 'text' && more.length === 0
  return isText ? [message, { ...message, content: only['text'] ?? '' }] : [message]
}
