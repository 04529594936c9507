import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { completeEnvelope, metadataOf } from '../../../conversation/writing/encode.ts'
import type { Actor } from '../../../events/events.ts'
import { newCommandId } from '../../../events/ids.ts'
import { settledCodec, type SettledData, settledStreamOf } from '../../../events/settled-data.ts'
import { unwrap, orThrow, run, type Fallible } from '../../../result/fallible.ts'
import type { StoreError, WriteError } from '../../../store/errors.ts'
import type { Checkpoint, EventStore, RecordedEvent } from '../../../store/port.ts'
import type { Shift } from '../serving/shift.ts'
import { lastEvent } from './feed.ts'
import { ageOf, fieldsIn } from './seen-event.ts'
import type { WorkBoard } from './work-board.ts'
import { isBefore, joinParts, partIn, partsOf, type BoardSnapshot } from './work-snapshot.ts'

interface Found extends BoardSnapshot {
  /** Time at which the snapshot was recorded: ISO 8601, UTC. */
  readonly time: string
}

/** Maximum number of events searched for a usable snapshot. */
const maxLooks = 20

/** Returns all parts of a snapshot, up to and including the given last part; undefined if a part is missing. */
async function* partsTo(
  store: EventStore,
  { stream, revision }: RecordedEvent,
  last: SettledData,
): Fallible<StoreError, readonly SettledData[] | undefined> {
  const parts: [SettledData, ...SettledData[]] = [last]
  for (let from = revision - 1; parts[0].part > 0; from--) {
    const event = from < 0 ? undefined : yield* lastEvent(store, stream, from)
    const part = event && partIn(event, last.conversations)
    if (!part || !isBefore(part, parts[0])) return undefined
    parts.unshift(part)
  }
  return parts
}

/**
 * Reports whether the store can be read from this checkpoint. Reading one event is enough, and the event that names the checkpoint
 * follows soon after it.
 */
async function* isPlace(store: EventStore, stream: string, after: Checkpoint): Fallible<StoreError, boolean> {
  const page = await store.readAll({ after, prefixes: [stream], limit: 1 })()
  if (E.isRight(page)) return true
  return page.left._tag === 'InvalidInput' ? false : yield page.left
}

async function* newestIn(
  store: EventStore,
  stream: string,
  conversations: readonly string[],
): Fallible<StoreError, Found | undefined> {
  for (let from = Number.MAX_SAFE_INTEGER, looks = 1; from >= 0 && looks <= maxLooks; looks++) {
    const event = yield* lastEvent(store, stream, from)
    if (!event) return undefined
    from = event.revision - 1
    const last = partIn(event, conversations)
    if (!last || last.continues || !(yield* isPlace(store, stream, last.checkpoint))) continue
    const parts = yield* partsTo(store, event, last)
    if (parts) return { ...joinParts(parts, last), time: String(fieldsIn(event.metadata)['time']) }
  }
  return undefined
}

/** Returns the newest snapshot for a reader of these conversations; undefined if the reader must start at the store's beginning. */
async function* newestSettled(
  store: EventStore,
  conversations: readonly string[],
): Fallible<StoreError, Found | undefined> {
  const stream = settledStreamOf(conversations)
  const streamOfAll = settledStreamOf([''])
  const own = yield* newestIn(store, stream, conversations)
  const ofAll = stream === streamOfAll ? undefined : yield* newestIn(store, streamOfAll, conversations)
  // Both are valid; after the later one, fewer events remain to be read.
  return own && ofAll && ofAll.time > own.time ? ofAll : (own ?? ofAll)
}

/**
 * Restores the newest snapshot for these conversations. Rejects with a `StoreError`.
 *
 * @returns the checkpoint to continue reading at
 */
export const restoreSnapshot = async (
  store: EventStore,
  conversations: readonly string[],
  known: WorkBoard,
  now: number,
): Promise<Checkpoint | undefined> => {
  const settled = await orThrow(run(newestSettled(store, conversations)))
  if (settled) known.restore(settled.known, now, ageOf(settled.time, Date.now()))
  return settled?.checkpoint
}

/** Returns the last revision of the stream that holds the snapshots for these conversations; -1 if the stream is empty. */
export async function* snapshotsEnd(
  store: EventStore,
  conversations: readonly string[],
): Fallible<StoreError, number> {
  return (yield* lastEvent(store, settledStreamOf(conversations)))?.revision ?? -1
}

/**
 * Writes a snapshot of the board at a checkpoint.
 *
 * @param end last revision of the snapshot stream. If another worker has written since, the write fails with a `Conflict`, and the
 * other snapshot counts
 * @returns the new last revision of the stream
 */
export async function* writeSettled(
  { store, actor }: { readonly store: EventStore; readonly actor: Actor },
  conversations: readonly string[],
  settled: BoardSnapshot,
  end: number,
): Fallible<WriteError, number> {
  const stream = settledStreamOf(conversations)
  let last = end
  for (const data of partsOf(settled, conversations)) {
    const commandId = newCommandId()
    const metadata = { ...metadataOf(completeEnvelope({ commandId }, actor)), prev: null }
    const events = [yield* unwrap(settledCodec.encode({ type: 'Settled', data }, commandId, metadata))]
    yield* unwrap(store.append({ stream, events, expected: last++, repeat: 'none' }))
  }
  return last
}

/** Returns a number from 0 to 1 that is derived from a worker's id. */
const shareOf = (worker: string): number => Number.parseInt(hash('sha1', worker).slice(0, 8), 16) / 2 ** 32

/** Number of TTLs between two snapshots by a worker, so that snapshots are few compared with beats. */
const pauses = 18
/** Number of events to receive before a snapshot, for each step that the snapshot would contain. */
const perStep = 10
/**
 * Factor by which snapshots are less frequent while a worker reads a store for the first time. With these snapshots, the next worker
 * need not start over if this one ends early.
 */
const onTheWay = 100
/** Number of TTLs of silence after which a worker that holds nothing is forgotten. */
const forgotten = 1_000

/** Returns functions that restore the newest snapshot when a worker begins, and write snapshots of the worker's own board. */
export const createSnapshotKeeper = ({ worker, settings, around, known }: Shift) => {
  const { conversations, ttl, settleAfter, answerAll = false } = settings
  const { store, clock } = around
  // All workers receive the same events; because their thresholds differ, one of them writes first.
  const most = settleAfter * (1 + shareOf(worker))
  let at: Checkpoint | undefined
  let count = 0
  let notBefore = -Infinity
  /** Last known revision of the snapshot stream. */
  let end = -1
  let isWriting = false

  const isDue = (isUp: boolean): boolean => {
    const least = Math.max(isUp ? most : most * onTheWay, perStep * known.steps.size)
    return !isWriting && count >= least && (!isUp || clock.now() >= notBefore)
  }
  const write = async (settled: BoardSnapshot): Promise<void> => {
    const now = await run(snapshotsEnd(store, conversations))
    if (E.isLeft(now)) return
    const isLast = now.right === end
    end = now.right
    // Another worker has recently written a snapshot.
    if (!isLast) return
    const written = await run(writeSettled(around, conversations, settled, end))
    if (E.isRight(written)) end = written.right
  }

  /**
   * Restores the newest snapshot. Rejects with a `StoreError`.
   *
   * @returns the checkpoint to continue reading at
   */
  const begin = async (): Promise<Checkpoint | undefined> => {
    if (answerAll) return undefined
    end = await orThrow(run(snapshotsEnd(store, conversations)))
    return restoreSnapshot(store, conversations, known, clock.now())
  }
  /** Notes that the worker has processed the event at this checkpoint. */
  const received = (checkpoint: Checkpoint): void => {
    at = checkpoint
    count++
  }
  /**
   * Writes a snapshot of the worker's board if one is due.
   *
   * @param isUp true if the worker has caught up: before that, snapshots are less frequent
   */
  const settle = (isUp: boolean): void => {
    // A board that includes steps that nobody requested does not concern other workers.
    if (answerAll || at === undefined || !isDue(isUp)) return
    count = 0
    if (isUp) notBefore = clock.now() + pauses * ttl
    known.forget(clock.now() - forgotten * ttl)
    isWriting = true
    void write({ checkpoint: at, known: known.carried(clock.now()) }).finally(() => {
      isWriting = false
    })
  }
  return { begin, received, settle }
}
