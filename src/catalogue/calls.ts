import type { DatabaseSync } from 'node:sqlite'
import type { ConversationEvent } from '../events/events.ts'
import type { OpenedConversation } from '../conversation/reading/log.ts'
import { pages } from '../conversation/reading/reader.ts'
import { everyCallIn, type ModelCall, type PassedCalls, type UnprovenCall } from '../agent/receipts/calls.ts'
import { catchTyped, type Fallible } from '../result/fallible.ts'
import type { ReadError } from '../store/errors.ts'
import { partsOf } from './lineage.ts'
import type { ConversationTable } from './rows.ts'
import { placeIn, type ConversationRow } from './conversation-row.ts'

/** A page of the model calls in a conversation, ordered by the position of their answers. */
export interface CallsPage {
  /** Calls on the page. Calls that produced the same summary stay together, so the page may have a few more than `limit`. */
  readonly items: readonly (ModelCall | UnprovenCall)[]
  /** Position to pass as `from` for the next page; absent on the last page. */
  readonly next?: number
}

interface Asked {
  /** Position of the first answer to include; calls answered earlier are excluded. */
  readonly from?: number | undefined
  /** First call number to include; calls without a receipt have no number and are then excluded. */
  readonly number?: number | undefined
}

/** Position from which to read a conversation's log, and the calls before that position. */
export interface CallCursor {
  readonly position: number
  readonly passed: PassedCalls
}

/**
 * Returns the position from which to read events to find the requested calls, together with the calls before that position, which the
 * index has already counted.
 */
export const callsBefore = (
  db: DatabaseSync,
  rows: ConversationTable,
  row: ConversationRow,
  { from = 0, number }: Asked,
): CallCursor => {
  const through = (last: number): PassedCalls => callsThrough(db, rows, { ...row, last })
  let position = Math.min(from, row.last + 1)
  for (let end = row.last + 1; number !== undefined && position < end;) {
    const middle = (position + end) >> 1
    if (through(middle).calls < number) position = middle + 1
    else end = middle
  }
  return { position, passed: through(position - 1) }
}

/** Returns the calls answered at or before `thread.last`. */
const callsThrough = (db: DatabaseSync, rows: ConversationTable, thread: ConversationRow): PassedCalls => {
  let calls = 0
  const summaries = new Set<string>()
  for (const { row, last } of partsOf(rows, thread)) {
    const { number, index: end } = placeIn(row, last)
    calls += repliesBefore(db, row, number)
    for (const { columns } of rows.chunks(row, number, number))
      for (let index = 0; index <= end; index++) if (columns.isCallAt(index)) calls++
    for (const { answer, calls: own } of summariesIn(db, row, last))
      if (!summaries.has(answer)) {
        summaries.add(answer)
        calls += own
      }
  }
  return { calls, summaries }
}

/** Counts the replies with a receipt in the chunks before the chunk `number`. */
const repliesBefore = (db: DatabaseSync, { n }: ConversationRow, number: number): number =>
  Number(
    db.prepare('SELECT total(calls) AS calls FROM chunks WHERE thread = ? AND number < ?').get(n, number)?.[
      'calls'
    ],
  )

const summariesIn = (db: DatabaseSync, { n }: ConversationRow, last: number) =>
  db
    .prepare('SELECT answer, calls FROM marks WHERE thread = ? AND position <= ? AND answer IS NOT NULL')
    .all(n, last)
    .map(({ answer, calls }) => ({ answer: String(answer), calls: Number(calls) }))

/** Returns a page of a conversation's calls. Reads only the events after the calls that the index has counted. */
export const callsPage = (
  { reading, last }: OpenedConversation,
  {
    from = 0,
    number,
    before,
    limit,
  }: Asked & { readonly before: CallCursor | undefined; readonly limit: number },
): Fallible<ReadError, CallsPage> =>
  catchTyped(async () => {
    const items: (ModelCall | UnprovenCall)[] = []
    const events = async function* (): AsyncGenerator<ConversationEvent, void> {
      for await (const page of pages(reading, before?.position ?? 0, last)) yield* page
    }
    const isAsked = (call: ModelCall | UnprovenCall): boolean =>
      call.position >= from && (number === undefined || ('number' in call && call.number >= number))
    for await (const call of everyCallIn(events(), before?.passed)) {
      if (!isAsked(call)) continue
      if (items.length >= limit && items.at(-1)?.position !== call.position)
        return { items, next: call.position }
      items.push(call)
    }
    return { items }
  })
