import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../events/codec.ts'
import { streamOf } from '../events/ids.ts'
import { eventMissing } from '../store/dense.ts'
import { importUnfinished, type ReadError } from '../store/errors.ts'
import { type Lineage, loadLineage } from './lineage.ts'
import type { EventStore, RecordedEvent } from '../store/port.ts'
import { streamEndFrom, type StreamEnd } from '../store/whole/whole-writes.ts'

/** Where a conversation ends. */
export interface ChainEnd {
  readonly lineage: Lineage
  /** Last revision of the conversation's own stream; -1 if there is none. */
  readonly revision: number
  /** Hash of the event there. */
  readonly hash: string | null
}

/** The last position of a conversation. */
export const lastPosition = ({ lineage, revision }: Pick<ChainEnd, 'lineage' | 'revision'>): number =>
  (lineage[0]?.offset ?? 0) + revision

/** Reads where a conversation ends, to write there. `ImportUnfinished` where events stand behind it that do not count yet. */
export const readChainEnd = async (
  store: EventStore,
  conversation: string,
  known?: Lineage,
): Promise<E.Either<ReadError, ChainEnd>> => {
  const end = await readConversationEnd(store, conversation, known)
  if (E.isLeft(end)) return end
  const { lineage, last, unfinished } = end.right
  return unfinished ? E.left(importUnfinished(conversation)) : E.right(chainEndAt(lineage, last))
}

/** @param last the event of the conversation's own stream that it ends with */
export const chainEndAt = (lineage: Lineage, last: RecordedEvent | undefined): ChainEnd => ({
  lineage,
  revision: last?.revision ?? -1,
  hash: last ? hashOf(last) : null,
})

/** The end of a conversation, as who only reads needs it: the first hash of a process takes long. */
export interface ConversationEnd extends StreamEnd {
  readonly lineage: Lineage
}

export const readConversationEnd = async (
  store: EventStore,
  conversation: string,
  known?: Lineage,
): Promise<E.Either<ReadError, ConversationEnd>> => {
  const stream = streamOf(conversation)
  const from = Number.MAX_SAFE_INTEGER
  const [lineage, read] = await Promise.all([
    known ? E.right(known) : loadLineage(store, conversation),
    store.read({ stream, from, direction: 'backwards', limit: 1 })(),
  ])
  if (E.isLeft(lineage)) return lineage
  if (E.isLeft(read)) return read
  if (!lineage.right && read.right.length > 0) {
    // Somebody began it between the two.
    const begun = await loadLineage(store, conversation)
    if (E.isLeft(begun)) return begun
    return begun.right
      ? readConversationEnd(store, conversation, begun.right)
      : E.left(eventMissing(stream, 0, read.right[0]?.revision))
  }
  // A conversation that is not there yet has the lineage that its first message will give it.
  const own = { conversation, stream, offset: 0, last: Infinity }
  const ends = lineage.right ?? [own]
  const [newest] = read.right
  if (!newest?.part) return E.right({ lineage: ends, last: newest })
  return E.map((end: StreamEnd) => ({ lineage: ends, ...end }))(await streamEndFrom(store, newest))
}
