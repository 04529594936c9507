import type { StoredEvent } from '../../events/codec.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { createNeedleFinder, type WordRepetition } from '../../transfer/disclosure/needles.ts'
import { textListOf } from '../../transfer/disclosure/texts.ts'

/** An event that repeats words of withheld events. */
export interface RepeatedText extends WordRepetition {
  readonly position: number
}

/** Minimum length of a text to search for, in UTF-16 code units. Shorter texts are too common to show a repetition. */
const shortest = 12

/** Returns the texts of an event that are long enough to identify it. */
const tellingIn = (event: ConversationEvent): readonly string[] =>
  textListOf(event.data)
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
      textListOf(value).some((said) => texts.some((text) => said.includes(text)))
    )
  }
}

/**
 * Returns a function that reports which withheld words an event repeats.
 *
 * @param withheld the withheld events
 */
export const createRepeatFinder = (
  withheld: readonly ConversationEvent[],
): ((event: ConversationEvent) => RepeatedText | undefined) => {
  const hidden = new Set(withheld.map(({ position }) => position))
  const find = createNeedleFinder(
    withheld.map(({ position, data }) => ({ position, texts: textListOf(data) })),
  )
  return ({ position, data }) => {
    if (hidden.size === 0 || hidden.has(position)) return undefined
    const found = find(textListOf(data))
    return found && { position, ...found }
  }
}
