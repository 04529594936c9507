import type { ConversationEvent } from '../events/events.ts'
import { blocksOf } from '../projections/clip.ts'

/** An event that says a text of what is withheld again, to the letter. */
export interface Repeated {
  readonly position: number
  /** Which of what is withheld. */
  readonly of: readonly number[]
}

/** Shorter texts are everywhere. In UTF-16 code units. */
const shortest = 12

/** What says what a block is, and to what it belongs. */
const naming = new Set(['type', 'id', 'tool_use_id', 'name', 'signature', 'media_type', 'cache_control'])

/** The texts in the blocks of an event, at any depth. */
const textsIn = (event: ConversationEvent): readonly string[] => {
  const texts: string[] = []
  const waiting: unknown[] = [...blocksOf(event)]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) waiting.push(...(value as readonly unknown[]))
    else if (typeof value === 'object' && value !== null)
      for (const [name, field] of Object.entries(value)) if (!naming.has(name)) waiting.push(field)
  }
  return texts
}

/** Finds events that say again what others do. @param withheld those others */
export const repeating = (
  withheld: readonly ConversationEvent[],
): ((event: ConversationEvent) => Repeated | undefined) => {
  const texts = withheld.map((event) => ({
    position: event.position,
    texts: textsIn(event)
      .map((text) => text.trim())
      .filter((text) => text.length >= shortest),
  }))
  const hidden = new Set(texts.map(({ position }) => position))
  return (event) => {
    if (hidden.size === 0 || hidden.has(event.position)) return undefined
    const said = textsIn(event)
    const repeats = (text: string): boolean => said.some((one) => one.includes(text))
    const of = texts.filter((each) => each.texts.some(repeats)).map(({ position }) => position)
    return of.length > 0 ? { position: event.position, of } : undefined
  }
}
