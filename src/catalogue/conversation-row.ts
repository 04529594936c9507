import type { ConversationEvent } from '../events/events.ts'
import { chunkLength, type Columns, flags, noColumns } from './columns.ts'
import { type Facts, isMessage } from './facts.ts'
import { isFailure } from '../projections/columns.ts'
import { titleOf, titleWithin } from '../projections/titles.ts'
import { traitOf } from './traits.ts'

/** A row of the table `threads`: a conversation in the catalogue. */
export interface ConversationRow {
  readonly n: number
  readonly id: string
  readonly parent: number | null
  /** Position of the first event in the conversation's own stream. */
  readonly from: number
  /** Last indexed position; `from - 1` if nothing is indexed. */
  readonly last: number
  readonly updated: number
  /** Time of the last indexed event that is not an erasure, as recorded in the event; empty if nothing is indexed. */
  readonly time: string
  /**
   * Beginning of the user's first words, taken from the conversation's own first events; empty if these events contain no words of the
   * user.
   */
  readonly title: string
  readonly tokens: number
  /** Number of replies with a receipt, including inherited ones. */
  readonly calls: number
  /** Number of messages ever appended, including inherited ones. */
  readonly messages: number
  /** Number of events that record an error, including inherited ones. */
  readonly errors: number
  readonly has: number
  /** Reason why indexing of the conversation has stopped; null if it has not. */
  readonly problem: string | null
}

/** A conversation with changes that are not written yet. */
export interface ConversationBuffer {
  row: ConversationRow
  /** Changed chunks that are not written yet, by number. */
  readonly chunks: Map<number, Columns>
}

/** An event, its classification, and the size of its data in bytes. */
export interface ClassifiedEvent {
  readonly event: ConversationEvent
  readonly facts: Facts
  readonly size: number
}

/** Returns the number of the chunk that contains a position, and the index in that chunk. */
export const placeIn = ({ from }: Pick<ConversationRow, 'from'>, position: number) => ({
  number: Math.floor((position - from) / chunkLength),
  index: (position - from) % chunkLength,
})

/**
 * Adds the next event to a conversation.
 *
 * @param tokens estimated tokens of the context after the event
 * @param open returns the stored chunk with a number; called if the chunk is not in memory
 */
export const take = (
  thread: ConversationBuffer,
  { event, facts, size }: ClassifiedEvent,
  tokens: number,
  open: (number: number) => Columns | undefined,
): void => {
  const { row, chunks } = thread
  const { number, index } = placeIn(row, facts.position)
  const columns = chunks.get(number) ?? (index > 0 ? open(number) : undefined) ?? noColumns()
  chunks.set(number, columns)
  const receipt = isCall(event) ? 1 : 0
  const failed = isFailure(event) ? 1 : 0
  const { time } = event.metadata
  const at = Date.parse(time)
  if (facts.tools.length > 0) columns.tools.set(index, facts.tools)
  columns.kinds.push(facts.kind)
  columns.flags.push(receipt * flags.call + failed * flags.failed)
  columns.sizes.push(size)
  columns.own.push(facts.own)
  columns.tokens.push(tokens)
  columns.times.push(at)
  thread.row = {
    ...row,
    last: facts.position,
    ...(event.type !== 'Erased' && { updated: at, time }),
    title: row.title === '' && facts.position < titleWithin ? titleOf([event]) : row.title,
    tokens,
    calls: row.calls + receipt,
    errors: row.errors + failed,
    messages: row.messages + (isMessage(facts.kind) ? 1 : 0),
    has: row.has | traitOf(facts.kind),
  }
}

/** Reports whether an event is a reply with a receipt. */
const isCall = (event: ConversationEvent): boolean =>
  event.type === 'MessageAppended' && event.data.origin?.context !== undefined
