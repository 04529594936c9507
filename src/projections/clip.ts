import type { Block } from '../events/blocks.ts'
import { hasNoEffect } from '../events/event-traits.ts'
import { type ConversationEvent, contentOf, messageOf } from '../events/events.ts'
import type { Item } from './effective.ts'
import type { Entry } from './full.ts'

// Cuts long strings and long lists in blocks for a first look, so that the cost of a page depends on the content it shows, not on the
// content stored.

/** A field of a block that was cut down to its beginning. */
export interface ClippedField {
  /** Index of the block in its event, in the order of `blocksOf`. */
  readonly block: number
  /** Name of the field, such as `text`, `thinking`, `input` or `content`; `data` for the source of an image or a document. */
  readonly field: string
  /** Length of the uncut string in UTF-16 code units; for a field that is not a string, the length of its JSON. */
  readonly length: number
  /** True if values are left out: the last ones in the field, or the whole field and the block's fields after it. */
  readonly omitted?: true | undefined
}
type Clipped<A> = A & {
  readonly cuts?: readonly ClippedField[]
  /** Number of blocks in the uncut event; absent if all of them are there. */
  readonly blocks?: number
}

/** Number of characters after which the rest of an event is left out. Names of fields count too. */
const mostKept = 100_000

type Fields = Readonly<Record<string, unknown>>

/** Fields that identify a block and its context. Their strings are never cut, however long they are. */
const identifying = new Set(['type', 'id', 'tool_use_id', 'name', 'role', 'media_type'])

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
 * Cuts long strings in the blocks of an item, and leaves out the values and blocks that come after 100,000 characters. Lists the cuts.
 *
 * @param most maximum length of a string after cutting, in UTF-16 code units; one less where a surrogate pair would be split
 */
export const clippedItem = <I extends Item | Entry>(item: I, most: number): Clipped<I> => {
  if (item.kind === 'truncation') return item
  const clip = createClip(most)
  const clipped =
    item.kind === 'message'
      ? { ...item, content: clip.blocks(item.content) }
      : { ...item, messages: clip.messages(item.messages) }
  const report = clip.report()
  return report ? { ...clipped, ...report } : item
}

/**
 * Cuts the blocks of an event as `clippedItem` does.
 *
 * @param most as in `clippedItem`
 */
export const clippedEvent = (event: ConversationEvent, most: number): Clipped<ConversationEvent> => {
  const clip = createClip(most)
  const clipped = eventWith(event, clip)
  const report = clip.report()
  return report ? { ...clipped, ...report } : event
}

const eventWith = (event: ConversationEvent, clip: Clip): ConversationEvent => {
  if (hasNoEffect(event)) return event
  switch (event.type) {
    case 'MessageAppended':
      return { ...event, data: { ...event.data, content: clip.blocks(messageOf(event).content) } }
    case 'Condensed':
      return { ...event, data: { ...event.data, summary: clip.messages(contentOf(event)) } }
    case 'Configured': {
      const { system, tools } = event.data
      const prompt = typeof system === 'string' ? clip.blocks([{ text: system }])[0]?.text : system
      const data = {
        ...event.data,
        ...(prompt !== undefined && { system: typeof prompt === 'string' ? prompt : clip.blocks(prompt) }),
        ...(tools && { tools: clip.blocks(tools) }),
      }
      return { ...event, data }
    }
    case 'Truncated':
    case 'Restored':
    case 'Rewound':
      return event
  }
}

interface Clip {
  /** Cuts blocks, which continue those given before. */
  readonly blocks: <B extends Block | Fields>(blocks: readonly B[]) => B[]
  readonly messages: <M extends { readonly content: readonly Block[] }>(messages: readonly M[]) => M[]
  /** Returns what was cut; undefined if nothing was. */
  readonly report: () => Pick<Clipped<unknown>, 'cuts' | 'blocks'> | undefined
}

const createClip = (most: number): Clip => {
  const cuts: ClippedField[] = []
  let kept = 0
  let count = 0
  let left = mostKept
  let omissions = 0

  /** Returns a value with its long strings cut and its last values left out; the same value if nothing is too long. */
  const shortened = (value: unknown, isInput: boolean): unknown => {
    if (typeof value === 'string') {
      left -= Math.min(value.length, most)
      return beginning(value, most)
    }
    left--
    if (typeof value !== 'object' || value === null) return value
    const entries: [string, unknown][] = []
    let isSame = true
    // Does not list the fields first: there may be a million of them.
    for (const key in value) {
      if (left <= 0) {
        omissions++
        isSame = false
        break
      }
      left -= key.length
      const inner: unknown = value[key as keyof typeof value]
      const short = !isInput && isIdentifying(key, inner) ? inner : shortened(inner, isInput)
      isSame &&= short === inner
      entries.push([key, short])
    }
    if (isSame) return value
    // A field may be called __proto__.
    return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
  }

  const clipped = <B extends Block | Fields>(block: B): B => {
    const index = kept++
    const fields: [string, unknown][] = []
    const before = omissions
    for (const field in block) {
      const value: unknown = block[field]
      left -= field.length
      if (isIdentifying(field, value)) {
        fields.push([field, value])
        continue
      }
      if (omissions > before) continue
      if (left <= 0) omissions++
      else fields.push([field, shortened(value, field === 'input')])
      const isPart = omissions > before
      if (isPart || fields.at(-1)?.[1] !== value)
        cuts.push({ block: index, ...wholeOf(field, value), ...(isPart && { omitted: true }) })
    }
    return Object.fromEntries(fields) as B
  }

  const blocks: Clip['blocks'] = (given) => {
    count += given.length
    const first = []
    for (const block of given) {
      if (left <= 0) break
      first.push(clipped(block))
    }
    return first
  }

  return {
    blocks,
    messages: (messages) =>
      messages.flatMap((said) => {
        const content = blocks(said.content)
        return content.length === 0 && said.content.length > 0 ? [] : [{ ...said, content }]
      }),
    report: () =>
      cuts.length > 0 || kept < count
        ? { ...(cuts.length > 0 && { cuts }), ...(kept < count && { blocks: count }) }
        : undefined,
  }
}

const isIdentifying = (field: string, value: unknown): value is string =>
  typeof value === 'string' && identifying.has(field)

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
