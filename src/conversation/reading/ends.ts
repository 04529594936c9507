import type { ConversationNotFound } from '../../commands/rejections.ts'
import * as E from 'fp-ts/lib/Either.js'
import { hashOf, isEventType } from '../../events/codec.ts'
import type { Event, EventType } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import { run, unwrap, type Fallible } from '../../result/fallible.ts'
import { eventMissing } from '../../store/dense.ts'
import { importUnfinished, type ReadError, type StoreError } from '../../store/errors.ts'
import { type Lineage, loadLineage, rootLineage } from './lineage.ts'
import type { EventStore, RecordedEvent } from '../../store/port.ts'
import { streamEndFrom, type StreamEnd } from '../../store/whole/whole-writes.ts'

/** The end of a conversation, after which the next event is appended. */
export interface ChainEnd {
  readonly lineage: Lineage
  /** Last revision of the conversation's own stream; -1 if the stream is empty. */
  readonly revision: number
  /** Hash of the last event; null if the stream is empty. */
  readonly hash: string | null
}

/** Returns the last position of a conversation. */
export const lastPosition = ({ lineage, revision }: Pick<ChainEnd, 'lineage' | 'revision'>): number =>
  (lineage[0]?.offset ?? 0) + revision

/**
 * Reads the end of a conversation, where the next event is to be appended. Fails with `ImportUnfinished` if events of an unfinished
 * import come after the end.
 */
export async function* readChainEnd(
  store: EventStore,
  conversation: string,
  known?: Lineage,
): Fallible<ReadError, ChainEnd> {
  return yield* chainEndOf(conversation, yield* unwrap(readConversationEnd(store, conversation, known)))
}

/** Like `readChainEnd`, but for an end that has already been read. */
export async function* chainEndOf(
  conversation: string,
  { lineage, last, unfinished }: ConversationEnd,
): Fallible<ReadError, ChainEnd> {
  return unfinished ? yield importUnfinished(conversation) : chainEndAt(lineage, last)
}

/**
 * Returns the end of a conversation with a given last event.
 *
 * @param last the last event of the conversation's own stream
 */
export const chainEndAt = (lineage: Lineage, last: RecordedEvent | undefined): ChainEnd => ({
  lineage,
  revision: last?.revision ?? -1,
  hash: last ? hashOf(last) : null,
})

/** The end of a conversation, for readers. It has no hash, because computing the first hash in a process is slow. */
export interface ConversationEnd extends StreamEnd {
  readonly lineage: Lineage
  /** The newest events of the conversation's own stream, newest first; at most `limit`. */
  readonly page: readonly RecordedEvent[]
}

/**
 * Reads the end of a conversation, without its hash.
 *
 * @param limit number of newest events to read
 */
export const readConversationEnd = async (
  store: EventStore,
  conversation: string,
  known?: Lineage,
  limit = 1,
): Promise<E.Either<StoreError | ConversationNotFound, ConversationEnd>> => {
  const stream = streamOf(conversation)
  const from = Number.MAX_SAFE_INTEGER
  const [loaded, read] = await Promise.all([
    known ? E.right(known) : loadLineage(store, conversation),
    store.read({ stream, from, direction: 'backwards', limit })(),
  ])
  if (E.isLeft(loaded)) return loaded
  if (E.isLeft(read)) return read
  const page = read.right
  const [newest] = page
  if (!loaded.right && newest) {
    // Another writer created the conversation between the two reads.
    const begun = await loadLineage(store, conversation)
    if (E.isLeft(begun)) return begun
    return begun.right
      ? readConversationEnd(store, conversation, begun.right, limit)
      : E.left(eventMissing(stream, 0, newest.revision))
  }
  // A conversation that does not exist yet has the lineage that its first message will give it.
  const lineage = loaded.right ?? rootLineage(conversation)
  if (!newest?.part) return E.right({ lineage, page, last: newest })
  return E.map((end: StreamEnd) => ({ lineage, page, ...end }))(await run(streamEndFrom(store, newest)))
}

/** The head of a conversation, as far as it is known without reading the store. */
export interface HeadState {
  /** Position of the current head. */
  readonly head?: number | undefined
  /** Position of the head before the last event. */
  readonly headBefore?: number | undefined
  readonly lastType?: EventType | undefined
}

/** The end of a conversation as remembered from the last write or read. */
export interface StreamHead extends ChainEnd, HeadState {}

/**
 * Returns the end of a conversation after these events have been appended.
 *
 * @param resolved the head after the last event, if that event is a rewind and the head it leads to is known
 */
export const headAfter = (
  known: StreamHead,
  events: readonly Event[],
  hash: string | null,
  resolved?: number,
): StreamHead => {
  const { lineage, revision } = known
  const last = lastPosition(known)
  let { head, headBefore, lastType } = known
  for (const [index, event] of events.entries()) {
    headBefore = head
    lastType = event.type
    if (event.type !== 'Rewound') head = last + 1 + index
    // An append to an abandoned branch ends with a rewind to the previous last position.
    else head = event.data.to === last ? known.head : resolved
  }
  return { lineage, revision: revision + events.length, hash, head, headBefore, lastType }
}

/**
 * Returns the end of a conversation with the type of its last event and its head. The head is undefined after a rewind, because the
 * last event alone does not determine it.
 */
export const headFrom = (end: ChainEnd, type: string | undefined): StreamHead =>
  type !== undefined && isEventType(type)
    ? { ...end, lastType: type, head: type === 'Rewound' ? undefined : lastPosition(end) }
    : end

/**
 * Reports whether a newly read end is consistent with a remembered one, given that streams only grow: it has a higher revision, or the
 * same revision and hash.
 */
export const continues = ({ revision, hash }: ChainEnd, before: ChainEnd): boolean =>
  revision > before.revision || (revision === before.revision && hash === before.hash)
