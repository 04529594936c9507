import type { StoredEvent } from '../../events/codec.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { blocksOf } from '../../projections/clip.ts'

/** An event that repeats a withheld text verbatim. */
export interface RepeatedText {
  readonly position: number
  /** Positions of the withheld events whose texts it repeats. */
  readonly of: readonly number[]
}

/** Minimum length of a text to search for, in UTF-16 code units. Shorter texts are too common to show a repetition. */
const shortest = 12

/** Fields that identify a block or the block that it belongs to; their values are not searched. */
const naming = new Set(['type', 'id', 'tool_use_id', 'name', 'signature', 'media_type', 'cache_control'])

/** Returns the texts in an event's blocks, at any depth. */
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

/** Returns the texts of an event that are long enough to identify it. */
const tellingIn = (event: ConversationEvent): readonly string[] =>
  textsIn(event)
    .map((text) => text.trim())
    .filter((text) => text.length >= shortest)

/**
 * Returns a predicate that reports whether a turn event refers to a call of a withheld reply or contains a withheld text.
 *
 * @param withheld the withheld events, at `positions`
 */
export const createTurnFilter = (
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

/**
 * Returns a function that reports which withheld texts an event repeats.
 *
 * @param withheld the withheld events
 */
export const createRepeatFinder = (
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
