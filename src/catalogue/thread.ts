import type { ConversationEvent } from '../events/events.ts'
import { chunkLength, type Columns, noColumns } from './columns.ts'
import { type Facts, isMessage } from './facts.ts'
import { titleOf, titleWithin } from '../projections/titles.ts'
import { traitOf } from './traits.ts'

/** A conversation in the catalogue. */
export interface ThreadRow {
  readonly n: number
  readonly id: string
  readonly parent: number | null
  /** Position of its first own event. */
  readonly from: number
  /** Last position that is indexed; `from - 1` if there is none. */
  readonly last: number
  readonly updated: number
  /** The same as its event has it; empty if there is none. */
  readonly time: string
  /** The first words of the user, if its own first events have any. */
  readonly title: string
  readonly tokens: number
  /** Replies with a receipt, inherited ones included. */
  readonly calls: number
  /** Messages ever appended, inherited ones included. */
  readonly messages: number
  readonly has: number
  /** Why no more of it is indexed. */
  readonly problem: string | null
}

/** A conversation to be continued. */
export interface ThreadBuffer {
  row: ThreadRow
  /** Its chunks that were changed and not written yet, by number. */
  readonly chunks: Map<number, Columns>
}

/** An event, what it was found to be, and the bytes of its data. */
export interface ClassifiedEvent {
  readonly event: ConversationEvent
  readonly facts: Facts
  readonly size: number
}

/** The chunk that has a position, and the index there. */
export const placeIn = ({ from }: Pick<ThreadRow, 'from'>, position: number) => ({
  number: Math.floor((position - from) / chunkLength),
  index: (position - from) % chunkLength,
})

/**
 * Takes the next event.
 *
 * @param tokens of the context after it
 * @param open the chunk with this number as it was written, if it is not among those in memory
 */
export const take = (
  thread: ThreadBuffer,
  { event, facts, size }: ClassifiedEvent,
  tokens: number,
  open: (number: number) => Columns | undefined,
): void => {
  const { row, chunks } = thread
  const { number, index } = placeIn(row, facts.position)
  const columns = chunks.get(number) ?? (index > 0 ? open(number) : undefined) ?? noColumns()
  chunks.set(number, columns)
  const receipt = isCall(event) ? 1 : 0
  const { time } = event.metadata
  const updated = Date.parse(time)
  if (facts.tools.length > 0) columns.tools.set(index, facts.tools)
  columns.kinds.push(facts.kind)
  columns.receipts.push(receipt)
  columns.sizes.push(size)
  columns.own.push(facts.own)
  columns.tokens.push(tokens)
  columns.times.push(updated)
  thread.row = {
    ...row,
    last: facts.position,
    updated,
    time,
    title: row.title === '' && facts.position < titleWithin ? titleOf([event]) : row.title,
    tokens,
    calls: row.calls + receipt,
    messages: row.messages + (isMessage(facts.kind) ? 1 : 0),
    has: row.has | traitOf(facts.kind),
  }
}

/** Whether an event is a reply that has a receipt. */
const isCall = (event: ConversationEvent): boolean =>
  event.type === 'MessageAppended' && event.data.origin?.context !== undefined
