import type { StoredEvent } from '../../events/codec.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { blocksOf } from '../../projections/clip.ts'

/** An event that says a text of what is withheld again, to the letter. */
export interface RepeatedText {
  readonly position: number
  /** Which of what is withheld. */
  readonly of: readonly number[]
}

/** Shorter texts are everywhere. In UTF-16 code units. */
const shortest = 12

/** What says what a block is, and to what it belongs. */
const naming = new Set(['type', 'id', 'tool_use_id', 'name', 'signature', 'media_type', 'cache_control'])

/** The texts in the blocks of an event, at any depth. */
const textsIn = (event: ConversationEvent): readonly string[] => textsOf(blocksOf(event))

const textsOf = (values: readonly unknown[]): readonly string[] => {
  const texts: string[] = []
  const waiting: unknown[] = [...values]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) waiting.push(...(value as readonly unknown[]))
    else if (typeof value === 'object' && value !== null)
      for (const [name, field] of Object.entries(value)) if (!naming.has(name)) waiting.push(field)
  }
  return texts
}

/** The texts of an event that are long enough to be told by. */
const tellingIn = (event: ConversationEvent): readonly string[] =>
  textsIn(event)
    .map((text) => text.trim())
    .filter((text) => text.length >= shortest)

/**
 * Finds what turns recorded about the calls of replies that are withheld, or with a text of what is.
 *
 * @param withheld positions, and the events there
 */
export const hiding = (
  positions: ReadonlySet<number>,
  withheld: readonly ConversationEvent[],
): ((event: StoredEvent) => boolean) => {
  const texts = withheld.flatMap(tellingIn)
  return ({ data }) => {
    if (positions.size === 0) return false
    const value: unknown = JSON.parse(data)
    const reply: unknown = Reflect.get(Object(value), 'reply')
    return (
      positions.has(Number(reply)) ||
      textsOf([value]).some((said) => texts.some((text) => said.includes(text)))
    )
  }
}

/** Finds events that say again what others do. @param withheld those others */
export const repeating = (
  withheld: readonly ConversationEvent[],
): ((event: ConversationEvent) => RepeatedText | undefined) => {
  const texts = withheld.map((event) => ({ position: event.position, texts: tellingIn(event) }))
  const hidden = new Set(texts.map(({ position }) => position))
  return (event) => {
    if (hidden.size === 0 || hidden.has(event.position)) return undefined
    const said = textsIn(event)
    const repeats = (text: string): boolean => said.some((one) => one.includes(text))
    const of = texts.filter((each) => each.texts.some(repeats)).map(({ position }) => position)
    return of.length > 0 ? { position: event.position, of } : undefined
  }
}
