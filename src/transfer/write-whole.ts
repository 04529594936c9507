import { randomUUID } from 'node:crypto'
import { unwrap, type Fallible } from '../result/fallible.ts'
import type { StoredEvent } from '../events/codec.ts'
import type { EventTooLarge } from '../events/errors.ts'
import { newCommandId } from '../events/ids.ts'
import { batchesOf } from './batches.ts'
import { breath } from '../store/breath.ts'
import type { ChainEnd } from '../conversation/reading/ends.ts'
import { conflict, importUnfinished, type WriteError } from '../store/errors.ts'
import { isRecord, recordOf, recordPrefix, type RevisionRange } from '../store/whole/parts.ts'
import type { AppendRequest, EventStore, WritePart } from '../store/port.ts'

/** Events to write to one stream of a conversation, after the events already there. */
export interface Addition {
  readonly id: string
  readonly stream: string
  readonly end: Pick<ChainEnd, 'revision'>
  /** The incomplete write that contains the last stored event; undefined if the stream has no such write. */
  readonly open?: WritePart | undefined
  readonly events: EventList
  /**
   * Treatment of repeated events, as for an append. It matters because the commands that wrote these events may be repeated in this
   * store.
   */
  readonly repeat?: AppendRequest['repeat']
}

/** Events in order, not necessarily all in memory. */
export type EventList = Iterable<StoredEvent> & { readonly length: number }

type Writing<A> = Fallible<WriteError | EventTooLarge, A>

/**
 * Maximum number of events in one append; `batchBytes` is the maximum size in bytes. A large import in one transaction would make other
 * writers wait.
 */
const batchEvents = 250
const batchBytes = 512 * 1024

/**
 * Writes the additions to all these conversations, all or nothing. If they fit into a single append, they are written in one.
 * Otherwise, the events are marked as parts of a write (`AppendRequest.part`), and the last event marks the write complete. For several
 * conversations, a record that is written after all of their events marks them complete.
 *
 * @param wrote function called after each append with the addition and the number of events added; events of another writer do not
 * count
 */
export async function* writeAll(
  store: EventStore,
  additions: readonly Addition[],
  wrote: (addition: Addition, events: number) => void,
): Writing<void> {
  const changed = additions.filter(({ events, open }) => events.length > 0 || open)
  const torn = changed.find(({ events, open }) => events.length === 0 && open?.last === undefined)
  // The stored events belong to a write that includes more than this file.
  if (torn) return yield importUnfinished(torn.id)
  const isOne = changed.length === 1 && changed.some(({ events }) => events.length > 0)
  const adopted = changed.flatMap(({ open }) => (isRecord(open?.last) ? [open.last] : []))
  const record = adopted[0] ?? recordPrefix + randomUUID()
  for (const each of changed)
    yield* write(store, each, isOne ? true : record, (events) => wrote(each, events))
  if (!isOne) yield* recordAll(store, changed, record)
}

async function* write(
  store: EventStore,
  { stream, end, open, events, repeat }: Addition,
  last: true | string,
  wrote: (events: number) => void,
): Writing<void> {
  const from = open?.from ?? end.revision + 1
  let written = 0
  for (const batch of batchesOf(events, batchEvents, Math.min(batchBytes, store.maxAppendBytes / 2))) {
    // A batch of a large import is encoded as it is taken.
    await breath()
    const expected = end.revision + written
    const isLast = written + batch.length === events.length
    const isAlone = last === true && !open && batch.length === events.length
    const part = { from, ...(isLast && { last }) }
    const append = { stream, events: batch, expected, ...(repeat && { repeat }) }
    const appended = yield* unwrap(store.append({ ...append, ...(!isAlone && { part }) }))
    // The stored events may have another time, and so another hash than the one that the next batch is chained to.
    if (appended === 'repeated') return yield conflict(stream, expected, expected + batch.length)
    written += batch.length
    wrote(batch.length)
    await breath()
  }
}

/**
 * Marks the additions to all these conversations as complete. Each addition becomes complete with the record that its last event names.
 */
async function* recordAll(store: EventStore, changed: readonly Addition[], record: string): Writing<void> {
  const records = Map.groupBy(changed, ({ events, open }) =>
    events.length === 0 && isRecord(open?.last) ? open.last : record,
  )
  for (const [stream, additions] of records) {
    const stretches = additions.map(stretchOf)
    const event = { id: newCommandId(), type: 'Imported', data: recordOf(stretches), metadata: '{}' }
    const expected = yield* lastOf(store, stream)
    yield* unwrap(store.append({ stream, events: [event], expected, repeat: 'none' }))
  }
}

const stretchOf = ({ stream, end, open, events }: Addition): RevisionRange => ({
  stream,
  from: open?.from ?? end.revision + 1,
  to: end.revision + events.length,
})

async function* lastOf(store: EventStore, stream: string): Writing<number> {
  const from = Number.MAX_SAFE_INTEGER
  const [last] = yield* unwrap(store.read({ stream, from, direction: 'backwards', limit: 1 }))
  return last?.revision ?? -1
}
