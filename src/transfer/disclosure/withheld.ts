import { decode, hashOf } from '../../events/codec.ts'
import { invalidInput } from '../../events/errors.ts'
import type { Configuration, ConversationEvent } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import { withoutContent } from '../../events/without-content.ts'
import { type Effective, itemIn } from '../../projections/effective.ts'
import { titleOf } from '../../projections/titles.ts'
import { orThrow } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import type { ReadableConversation } from '../formats/readable-conversation.ts'
import { normalText } from './needles.ts'
import { textListOf } from './texts.ts'

/** Text that stands in place of withheld content. */
export const withheldMark = '[withheld]'

/** An event whose content is withheld from an export. */
export interface StubbedEvent {
  readonly event: ConversationEvent
  /** The event with a mark in place of its content. */
  readonly stub: ConversationEvent
  readonly hash: string
}
/** Withheld events by position, ascending. */
export type StubbedEvents = ReadonlyMap<number, StubbedEvent>

/**
 * Reads the events to withhold, which are kept in memory. Throws `InvalidInput` if a position does not exist, or if its event records
 * where a fork comes from.
 *
 * @param last last position of the export
 */
export const readWithheld = async (
  chat: Pick<ReadableConversation, 'stored'>,
  positions: readonly number[],
  last: number,
): Promise<StubbedEvents> => {
  const wanted = new Set(positions)
  const withheld = new Map<number, StubbedEvent>()
  if (positions.some((position) => position > last || position < 0))
    throw toError(invalidInput('withhold', `must be a list of positions from 0 to ${last}`))
  if (wanted.size === 0) return withheld
  let position = 0
  const to = positions.reduce((one, other) => Math.max(one, other))
  for await (const stored of chat.stored({ to })) {
    if (wanted.has(position)) {
      const { conversation, revision } = stored
      const event = await orThrow(decode(stored, { stream: streamOf(conversation), revision, position }))
      withheld.set(position, { event, stub: stubOf(event), hash: hashOf(stored) })
    }
    position++
  }
  return withheld
}

/** Returns a title as it is exported: with a mark in its place if it was made from a withheld event. */
export const exportedTitle = (title: string, withheld: StubbedEvents): string =>
  [...withheld.values()].some(({ event }) => isTitledBy(event, title)) ? withheldMark : title

const isTitledBy = (event: ConversationEvent, title: string): boolean => {
  const normal = normalText(title)
  if (normal === '') return false
  return (
    titleOf([event]) === title || textListOf(event.data).some((text) => normalText(text).includes(normal))
  )
}

/** Returns a conversation whose withheld events and items are stubs. */
export const withStubs = <C extends Pick<ReadableConversation, 'events' | 'context'>>(
  chat: C,
  withheld: StubbedEvents,
): C =>
  withheld.size === 0
    ? chat
    : {
        ...chat,
        events: async function* (range: Parameters<C['events']>[0]) {
          for await (const event of chat.events(range)) yield withheld.get(event.position)?.stub ?? event
        },
        context: async (options: Parameters<C['context']>[0]) =>
          contextWith(await chat.context(options), withheld),
      }

const contextWith = (effective: Effective, withheld: StubbedEvents): Effective => {
  const { items, layout } = effective
  const configurationAt = (position: number | undefined): Configuration | undefined => {
    const stub = position === undefined ? undefined : withheld.get(position)?.stub
    return stub?.type === 'Configured' ? stub.data : undefined
  }
  const configuration = configurationAt(layout.configured)
  const { tools: formerTools } = configurationAt(layout.toolsFrom) ?? {}
  return {
    ...effective,
    items: items.map((item) => {
      const stub = withheld.get(item.position)?.stub
      return (stub && itemIn(stub)) ?? item
    }),
    layout: {
      ...layout,
      ...(configuration && { configuration, configuredSalt: undefined }),
      ...(formerTools && { formerTools, formerSalt: undefined }),
    },
  }
}

/**
 * Returns an event with a mark in place of its content. What keeps a history and its requests valid stays: type, role, time, actor, the
 * ids of calls, the names of tools, and the slice that a marker covers. Receipts and the salt go, because they could confirm a guess.
 */
const stubOf = (event: ConversationEvent): ConversationEvent => {
  if (event.type === 'Forked') throw cannotWithhold(event.position, forkOrigin)
  const { salt: _salt, ...metadata } = event.metadata
  return {
    ...event,
    metadata,
    data: withoutContent(event.type, event.data, withheldMark),
  } as ConversationEvent
}

/** Problem of an event that records where a fork comes from. */
export const forkOrigin = 'records where the conversation was forked from and cannot be withheld'

/** Creates the error of an event that cannot be withheld. */
export const cannotWithhold = (position: number, problem: string): Error =>
  toError(invalidInput('withhold', `event ${position} ${problem}`))
