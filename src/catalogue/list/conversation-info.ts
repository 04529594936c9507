import * as E from 'fp-ts/lib/Either.js'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { decode } from '../../events/codec.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { conversationOf, streamOf } from '../../events/ids.ts'
import { breath } from '../../store/breath.ts'
import type { ReadError } from '../../store/errors.ts'
import type { Link } from '../../projections/notes.ts'
import { titleOf, titleWithin } from '../../projections/titles.ts'
import { lineageFrom, rootLineage, type StreamSegment } from '../../conversation/reading/lineage.ts'
import { backwards, endsStream } from '../../store/pages.ts'
import type { EventStore, RecordedEvent } from '../../store/port.ts'
import type { ConversationFacts } from './conversation-facts.ts'
import { streamEndFrom, readStreamEnd, type StreamEnd } from '../../store/whole/whole-writes.ts'

/** Information about a conversation, as shown in lists; with facts from the index if they were requested and are known. */
export interface ConversationInfo extends Partial<Omit<ConversationFacts, 'id' | 'messages'>> {
  readonly id: string
  /**
   * Title: the latest `title` note, or else the beginning of the user's first message; empty if the first events contain no text from
   * the user. One line of at most 80 characters.
   */
  readonly title: string
  /**
   * Number of messages ever appended to the conversation's lineage, including rewound ones; absent if the store does not count them
   * (EventStoreDB).
   */
  readonly messages?: number
  /** Number of events in the conversation's lineage. */
  readonly events: number
  /** Time at which the last event was recorded, ISO 8601. Erasing is no activity: an `Erased` event does not count. */
  readonly updated: string
  /** Links of the conversation, deduplicated; absent if it has none. */
  readonly links?: readonly Link[]
  /**
   * Id of the conversation under which this conversation is listed: the conversation that it is a subagent of, continues or was handed
   * over from, or else the conversation that it was forked from.
   */
  readonly parent?: string
  /**
   * Reason why the conversation cannot be read; the other fields are then empty. A damaged conversation does not prevent the others
   * from being listed.
   */
  readonly problem?: string
  /** Present with `problem` if the content is sealed, and no key that was given opens it. */
  readonly isKeyMissing?: true
}

/** Information without notes. `isSettled` is true if it stays valid until the next write to the conversation's stream. */
export interface LogInfo {
  readonly info: ConversationInfo
  readonly isSettled: boolean
  readonly lineage: readonly StreamSegment[]
}

/** First events of conversations, by the conversations' ids. */
export type ConversationBeginnings = Map<string, readonly RecordedEvent[]>

/** Reads the first events of several conversations at once, as far as the store can; the others are read one by one. */
export async function* readBeginnings(
  { beginnings }: EventStore,
  ids: readonly string[],
): Fallible<ReadError, ConversationBeginnings> {
  if (!beginnings || ids.length === 0) return new Map()
  const begun = yield* unwrap(beginnings(ids.map(streamOf), titleWithin))
  return new Map([...begun].map(([stream, events]) => [conversationOf(stream) ?? stream, events]))
}

/**
 * Returns the information on a conversation of which all events were read; undefined if more must be read, as for a fork, or if an event
 * cannot be decoded.
 */
export const infoOfWhole = (id: string, beginning: readonly RecordedEvent[]): LogInfo | undefined => {
  const [first] = beginning
  const last = beginning.at(-1)
  if (!first || !last || first.type === 'Forked' || last.part || !endsStream(beginning, titleWithin))
    return undefined
  const events: ConversationEvent[] = []
  for (const stored of beginning) {
    const { stream, revision } = stored
    const decoded = decode(stored, { stream, revision, position: revision })
    if (E.isLeft(decoded)) return undefined
    events.push(decoded.right)
  }
  const info = {
    id,
    title: titleOf(events),
    messages: events.filter(({ type }) => type === 'MessageAppended').length,
    events: events.length,
    updated: events.findLast(({ type }) => type !== 'Erased')?.metadata.time ?? '',
  }
  return { info, isSettled: true, lineage: rootLineage(id) }
}

/**
 * Returns the information on a conversation; undefined if the conversation does not exist or is still being imported.
 *
 * @param begun first events of the conversation, if they have been read
 */
export async function* readLogInfo(
  store: EventStore,
  id: string,
  ancestors: ConversationBeginnings,
  begun?: readonly RecordedEvent[],
): Fallible<ReadError, LogInfo | undefined> {
  const beginning = begun ?? (yield* beginningOf(store, id))
  if (beginning.length === 0) return undefined
  const pause = breath()
  if (pause) await pause
  const { last: stored, unfinished } = yield* lastOf(store, id, beginning)
  if (!stored) return undefined
  const counted = beginning.filter(({ revision }) => revision <= stored.revision)
  const { lineage, events, parent } = yield* openingOf(store, id, counted, ancestors)
  const offset = lineage[0]?.offset ?? 0
  const position = offset + stored.revision
  const active = yield* lastActiveOf(store, stored)
  const { stream, revision } = active
  const last = yield* unwrap(decode(active, { stream, revision, position: offset + revision }))
  const messages = yield* messagesOf(store, lineage, position)
  const info = {
    id,
    title: titleOf(events),
    ...(messages !== undefined && { messages }),
    events: position + 1,
    updated: last.metadata.time,
    ...(parent !== undefined && { parent }),
  }
  return { info, isSettled: !unfinished, lineage }
}

const beginningOf = (store: EventStore, id: string): Fallible<ReadError, readonly RecordedEvent[]> =>
  unwrap(store.read({ stream: streamOf(id), from: 0, direction: 'forwards', limit: titleWithin }))

/** Returns the end of a conversation's own stream, without reading it again if `beginning` already contains it. */
const lastOf = (
  store: EventStore,
  id: string,
  beginning: readonly RecordedEvent[],
): Fallible<ReadError, StreamEnd> =>
  endsStream(beginning, titleWithin)
    ? streamEndFrom(store, beginning.at(-1))
    : readStreamEnd(store, streamOf(id))

/** Returns the last event up to `last` that is not an erasure. */
async function* lastActiveOf(store: EventStore, last: RecordedEvent): Fallible<ReadError, RecordedEvent> {
  if (last.type !== 'Erased') return last
  for await (const read of backwards(store, last.stream, { from: last.revision - 1 })) {
    const event = yield* unwrap(read)
    if (event.type !== 'Erased') return event
  }
  return last
}

/** Streams that make up a conversation, and the first events of the conversation. */
interface Opening {
  readonly lineage: readonly StreamSegment[]
  readonly events: readonly ConversationEvent[]
  /** Id of the conversation from which this conversation was forked. */
  readonly parent?: string
}

async function* openingOf(
  store: EventStore,
  conversation: string,
  own: readonly RecordedEvent[],
  ancestors: Map<string, readonly RecordedEvent[]>,
): Fallible<ReadError, Opening> {
  const beginnings = new Map([[conversation, own]])
  async function* firstOf(id: string, last: number): Fallible<ReadError, RecordedEvent | undefined> {
    if (id === conversation) return own[0]
    const known = ancestors.get(id)
    const beginning = known && covers(known, last) ? known : yield* beginningOf(store, id)
    ancestors.set(id, beginning)
    beginnings.set(id, beginning)
    return beginning[0]
  }
  const lineage = (yield* lineageFrom(conversation, firstOf)) ?? []
  const events: ConversationEvent[] = []
  for (const { conversation: id, stream, offset, last } of lineage.toReversed())
    for (const stored of beginnings.get(id) ?? []) {
      const { revision } = stored
      const position = offset + revision
      if (position > last || position >= titleWithin) break
      events.push(yield* unwrap(decode(stored, { stream, revision, position })))
    }
  const [, parent] = beginnings.keys()
  return { lineage, events, ...(parent !== undefined && { parent }) }
}

/** Reports whether the first events of an ancestor include all events needed for a fork at position `last`. */
const covers = (beginning: readonly RecordedEvent[], last: number): boolean =>
  beginning.length >= titleWithin || beginning.length > last

async function* messagesOf(
  store: EventStore,
  lineage: readonly StreamSegment[],
  last: number,
): Fallible<ReadError, number | undefined> {
  let messages = 0
  for (const { stream, offset, last: end } of lineage) {
    const counted = yield* unwrap(store.count(stream, 'MessageAppended', Math.min(end, last) - offset))
    if (counted === undefined) return undefined
    messages += counted
  }
  return messages
}
