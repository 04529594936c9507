/** A text in a value, with the name of the field that holds it. */
export interface NamedText {
  readonly name: string
  readonly text: string
}

/** Fields without content: identifiers, hashes, encoded data, and numbers that this library computes. */
const structural: ReadonlySet<string> = new Set(
  [
    'type role id tool_use_id messageId requestId commandId $correlationId $causationId starts',
    'signature media_type ttl time updated salt prev hash digest',
    'usage estimated tokens covers view policy container position revision schema',
  ].flatMap((names) => names.split(' ')),
)

/** Types of blocks and sources whose `data` is encoded, so that searching it for text is useless. */
export const encoded: ReadonlySet<unknown> = new Set(['base64', 'redacted_thinking'])

/** Least absolute value of a number that is yielded. Smaller numbers identify nothing. */
const leastNumber = 100_000

/**
 * Yields the texts in a JSON value, at any depth, in the order of their fields. Large numbers are yielded as texts. Names of tools,
 * identifiers, receipts and encoded data are left out.
 */
export function* textsIn(value: unknown): Generator<NamedText, void> {
  const waiting: { readonly name: string; readonly value: unknown }[] = [{ name: '', value }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { name, value: given } = next
    if (typeof given === 'string') yield { name, text: given }
    else if (typeof given === 'number' && Math.abs(given) >= leastNumber) yield { name, text: String(given) }
    else if (Array.isArray(given))
      for (const inner of given.toReversed()) waiting.push({ name, value: inner })
    else if (typeof given === 'object' && given !== null)
      for (const [field, inner] of Object.entries(given).toReversed())
        if (isContent(given, field)) waiting.push({ name: field, value: inner })
  }
}

/** Returns the texts in a JSON value, in the order of `textsIn`. */
export const textListOf = (value: unknown): readonly string[] => [...textsIn(value)].map(({ text }) => text)

const isContent = (fields: object, field: string): boolean => {
  if (field === 'data') return !encoded.has(Reflect.get(fields, 'type'))
  if (field === 'name') return !('input' in fields || 'input_schema' in fields)
  if (field === 'context') return !('digest' in Object(Reflect.get(fields, field)))
  // A tool's input may have a field of this name, too.
  if (field === 'workspace') return !('commit' in Object(Reflect.get(fields, field)))
  return !structural.has(field)
}

/**
 * Returns the beginning of a text and its length, for messages about texts that must not be repeated: at most four characters, and at
 * most an eighth of the text.
 */
export const maskedText = (text: string): string => {
  const shown = text.slice(0, Math.min(4, Math.floor(text.length / 8))).replaceAll(/[^\x20-\x7e]/g, ' ')
  return `${shown}… (${text.length} characters)`
}
