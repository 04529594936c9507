import * as E from 'fp-ts/lib/Either.js'
import { type ConversationNotFound, conversationNotFound } from '../../commands/rejections.ts'
import { decode } from '../../events/codec.ts'
import type { ConversationEvent, EventData } from '../../events/events.ts'
import type { DecodeFailed } from '../../events/errors.ts'
import { streamOf } from '../../events/ids.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import type { EventStore, RecordedEvent } from '../../store/port.ts'
import type { HistoryState } from './moments.ts'

/**
 * A stream that contains events of a conversation: its own stream or, for a fork, the stream of a conversation that it was forked from.
 */
export interface StreamSegment {
  readonly conversation: string
  readonly stream: string
  /** Position of the stream's first event, revision 0. */
  readonly offset: number
  /** Last position in the stream that belongs to the lineage; Infinity for the conversation's own stream. */
  readonly last: number
}

/**
 * The streams whose events make up a conversation.
 *
 * 1. The first segment is the conversation's own stream. Each segment's conversation was forked from the next segment's conversation.
 * 2. The segments are contiguous: the `offset` of a segment is the `last` of the next one + 1. The last segment has `offset` 0.
 */
export type Lineage = readonly StreamSegment[]

/** State that a handle keeps for its conversation. */
export interface Own {
  /** Lineage of the conversation; undefined until it has been read. */
  lineage?: Lineage
  /**
   * Informs the writers that use this handle of the conversation's last event and, if it was loaded, of the history shown at that
   * event.
   */
  readonly saw?: (lineage: Lineage, last: RecordedEvent, moment?: HistoryState) => void
}

/**
 * Loads the lineage of a conversation; returns undefined if the conversation does not exist. The lineage of an existing conversation
 * never changes.
 */
export const loadLineage = async (
  store: EventStore,
  conversation: string,
): Promise<E.Either<StoreError | ConversationNotFound, Lineage | undefined>> => {
  const read = (id: string) =>
    store.read({ stream: streamOf(id), from: 0, direction: 'forwards', limit: 1 })()
  const begun = await read(conversation)
  if (E.isLeft(begun)) return begun
  const [first] = begun.right
  if (first?.type !== 'Forked') return E.right(first && rootLineage(conversation))
  return run(
    lineageFrom(conversation, async function* (id): Fallible<StoreError, RecordedEvent | undefined> {
      return id === conversation ? first : (yield* unwrap(read(id)))[0]
    }),
  )
}

/** Returns the lineage of a conversation that is not a fork. */
export const rootLineage = (conversation: string): Lineage => [
  { conversation, stream: streamOf(conversation), offset: 0, last: Infinity },
]

/**
 * Like `loadLineage`, but gets the first event of each conversation from a function.
 *
 * @param firstOf returns the first event of a conversation whose events up to position `last` belong to the lineage; called for the
 * conversation itself, then for each conversation that it was forked from
 */
export async function* lineageFrom<Failed>(
  conversation: string,
  firstOf: (id: string, last: number) => Fallible<Failed, RecordedEvent | undefined>,
): Fallible<Failed | StoreError | ConversationNotFound, Lineage | undefined> {
  const lineage: StreamSegment[] = []
  const seen = new Set<string>()
  let last = Infinity
  for (let id: string | undefined = conversation; id !== undefined;) {
    const stream = streamOf(id)
    if (seen.has(id)) return yield ofItself(stream)
    seen.add(id)
    const first: RecordedEvent | undefined = yield* firstOf(id, last)
    if (!first && id === conversation) return undefined
    if (!first) return yield parentNotFound(conversation, id)
    const from: Forked['from'] | undefined = yield* unwrap(originOf(first))
    const offset = from ? from.position + 1 : 0
    // If a fork of a fork begins at a position that the first fork inherited, no event of the first fork belongs to the lineage.
    if (offset <= last) lineage.push({ conversation: id, stream, offset, last })
    last = Math.min(last, offset - 1)
    id = from?.conversation
  }
  return lineage
}

type Forked = EventData['Forked']

/** Returns the origin of a fork as recorded in the first event; undefined if the conversation is not a fork. */
export const originOf = (first: RecordedEvent): E.Either<StoreError, Forked['from'] | undefined> => {
  if (first.type !== 'Forked') return E.right(undefined)
  const decoded = decode(first, { stream: first.stream, revision: 0, position: 0 })
  return E.map((event: ConversationEvent) => (event.type === 'Forked' ? event.data.from : undefined))(decoded)
}

/** Returns the error for a fork that descends from itself and so has no beginning. */
export const ofItself = (stream: string): DecodeFailed => ({
  _tag: 'DecodeFailed',
  message: `event 0 of stream ${stream} is invalid: it says that the conversation was forked from one of its own forks; restore a backup`,
  stream,
  revision: 0,
})

export const parentNotFound = (conversation: string, parent: string): ConversationNotFound => ({
  ...conversationNotFound(parent),
  message: `conversation ${conversation} was forked from ${parent}, which is not in this store: import ${parent} first`,
})

/** Returns the segment that contains a position. */
export const stretchAt = (lineage: Lineage, position: number): StreamSegment | undefined =>
  lineage.find(({ offset }) => offset <= position)
