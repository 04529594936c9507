import type { Block } from '../events/blocks.ts'
import { hasNoEffect } from '../events/event-traits.ts'
import { type ConversationEvent, contentOf, messageOf } from '../events/events.ts'
import type { Item } from './effective.ts'
import type { Entry } from './full.ts'

// Cuts long strings in blocks for a first look, so that the cost of a page depends on the content it shows, not on the content stored.

/** A field of a block that was cut down to its beginning. */
export interface ClippedField {
  /** Index of the block in its event, in the order of `blocksOf`. */
  readonly block: number
  /** Name of the field, such as `text`, `thinking`, `input` or `content`; `data` for the source of an image or a document. */
  readonly field: string
  /** Length of the uncut string in UTF-16 code units; for a field that is not a string, the length of its JSON. */
  readonly length: number
}
type Clipped<A> = A & { readonly cuts?: readonly ClippedField[] }

type Fields = Readonly<Record<string, unknown>>

/** Fields that identify a block and its context. They are never cut, however long they are. */
const identifying = new Set(['type', 'id', 'tool_use_id', 'name', 'role', 'media_type', 'cache_control'])

/**
 * Returns the blocks of an event, in order: the blocks of its message or of its summary's messages, or a configuration's system prompt
 * followed by its tools.
 */
export const blocksOf = (event: ConversationEvent): readonly Fields[] => {
  if (event.type !== 'Configured') return contentOf(event).flatMap(({ content }) => content)
  const { system = [], tools = [] } = event.data
  return [...(typeof system === 'string' ? [{ type: 'text', text: system }] : system), ...tools]
}

/**
 * Cuts long strings in the blocks of an item and lists the cuts.
 *
 * @param most maximum length of a string after cutting, in UTF-16 code units; one less where a surrogate pair would be split
 */
export const clippedItem = <I extends Item | Entry>(item: I, most: number): Clipped<I> => {
  const { block, cuts } = clipping(most)
  if (item.kind === 'truncation') return item
  const clipped =
    item.kind === 'message'
      ? { ...item, content: item.content.map(block) }
      : {
          ...item,
          messages: item.messages.map((said) => ({ ...said, content: said.content.map(block) })),
        }
  return cuts.length > 0 ? { ...clipped, cuts } : item
}

/**
 * Cuts long strings in the blocks of an event and lists the cuts.
 *
 * @param most as in `clippedItem`
 */
export const clippedEvent = (event: ConversationEvent, most: number): Clipped<ConversationEvent> => {
  const { block, cuts } = clipping(most)
  const clipped = eventWith(event, block)
  return cuts.length > 0 ? { ...clipped, cuts } : event
}

type Change = <B extends Block | Fields>(block: B) => B

const eventWith = (event: ConversationEvent, block: Change): ConversationEvent => {
  if (hasNoEffect(event)) return event
  switch (event.type) {
    case 'MessageAppended':
      return { ...event, data: { ...event.data, content: messageOf(event).content.map(block) } }
    case 'Condensed': {
      const summary = contentOf(event).map((said) => ({ ...said, content: said.content.map(block) }))
      return { ...event, data: { ...event.data, summary } }
    }
    case 'Configured': {
      const { system, tools } = event.data
      const prompt = typeof system === 'string' ? block({ text: system }).text : system?.map(block)
      const data = {
        ...event.data,
        ...(prompt !== undefined && { system: prompt }),
        ...(tools && { tools: tools.map(block) }),
      }
      return { ...event, data }
    }
    case 'Truncated':
    case 'Restored':
    case 'Rewound':
      return event
  }
}

/** Returns a function that cuts the strings of blocks, and the list to which the function adds each cut. */
const clipping = (most: number) => {
  const cuts: ClippedField[] = []
  let count = 0
  const block: Change = (given) => {
    const index = count++
    const cut = Object.entries(given).map(([field, value]: [string, unknown]) => {
      if (identifying.has(field)) return [field, value]
      const short = shortened(value, most, field === 'input')
      if (short !== value) cuts.push({ block: index, ...wholeOf(field, value) })
      return [field, short]
    })
    return Object.fromEntries(cut) as typeof given
  }
  return { block, cuts }
}

/** Returns a value with every long string in it cut; the same value if no string is too long. */
const shortened = (value: unknown, most: number, isInput: boolean): unknown => {
  if (typeof value === 'string') return beginning(value, most)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const short = value.map((inner: unknown) => shortened(inner, most, isInput))
    return short.every((inner, index) => inner === value[index]) ? value : short
  }
  // Collects the changes only: an input may have a million fields.
  const changes: [string, unknown][] = []
  for (const key in value) {
    if (!isInput && identifying.has(key)) continue
    const inner: unknown = value[key as keyof typeof value]
    const short = shortened(inner, most, isInput)
    if (short !== inner) changes.push([key, short])
  }
  // Fields keep their order. A field may be called __proto__.
  return changes.length === 0 ? value : Object.fromEntries([...Object.entries(value), ...changes])
}

const beginning = (text: string, most: number): string => {
  if (text.length <= most) return text
  const partsPair = (text.codePointAt(most - 1) ?? 0) > 0xffff
  return text.slice(0, partsPair ? most - 1 : most)
}

/** Returns the name and the uncut length of a field, as in `ClippedField`. */
const wholeOf = (field: string, value: unknown): Omit<ClippedField, 'block'> => {
  const data = field === 'source' ? (value as { readonly data?: unknown } | null)?.data : undefined
  const whole = data ?? value
  return {
    field: field === 'source' ? 'data' : field,
    length: typeof whole === 'string' ? whole.length : JSON.stringify(whole).length,
  }
}
