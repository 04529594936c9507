import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { orThrow, run } from '../../result/fallible.ts'
import type { Checkpoint } from '../../store/port.ts'
import { restoreSnapshot, snapshotsEnd, writeSettled } from './snapshots.ts'
import type { BoardSnapshot } from './snapshot-parts.ts'
import type { Shift } from './shift.ts'

/** Returns a number from 0 to 1 that is derived from a worker's id. */
const shareOf = (worker: string): number => Number.parseInt(hash('sha1', worker).slice(0, 8), 16) / 2 ** 32

/** Keeper of board snapshots: restores the newest one when a worker begins, and writes snapshots of the worker's own board. */
export interface SnapshotKeeper {
  /**
   * Restores the newest snapshot. Rejects with a `StoreError`.
   *
   * @returns the checkpoint to continue reading at
   */
  readonly begin: () => Promise<Checkpoint | undefined>
  /** Notes that the worker has processed the event at this checkpoint. */
  readonly received: (checkpoint: Checkpoint) => void
  /**
   * Writes a snapshot of the worker's board if one is due.
   *
   * @param isUp true if the worker has caught up: before that, snapshots are less frequent
   */
  readonly settle: (isUp: boolean) => void
}

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

export const createSnapshotKeeper = ({ worker, settings, around, known }: Shift): SnapshotKeeper => {
  const { conversations, ttl, settleAfter, answerAll } = settings
  const { store, clock } = around
  // All workers receive the same events; because their thresholds differ, one of them writes first.
  const most = settleAfter * (1 + shareOf(worker))
  let at: Checkpoint | undefined
  let received = 0
  let notBefore = -Infinity
  /** Last known revision of the snapshot stream. */
  let end = -1
  let isWriting = false

  const isDue = (isUp: boolean): boolean => {
    const least = isUp ? most : most * onTheWay
    return received >= Math.max(least, perStep * known.steps.size) && (!isUp || clock.now() >= notBefore)
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

  // The board then includes steps that nobody requested. They do not concern other workers, whose snapshots do not contain them.
  if (answerAll) return { begin: () => Promise.resolve(undefined), received: () => {}, settle: () => {} }
  return {
    begin: async () => {
      end = await orThrow(run(snapshotsEnd(store, conversations)))
      return restoreSnapshot(store, conversations, known, clock.now())
    },
    received: (checkpoint) => {
      at = checkpoint
      received++
    },
    settle: (isUp) => {
      if (at === undefined || isWriting || !isDue(isUp)) return
      received = 0
      if (isUp) notBefore = clock.now() + pauses * ttl
      known.forget(clock.now() - forgotten * ttl)
      isWriting = true
      void write({ checkpoint: at, known: known.carried() }).finally(() => {
        isWriting = false
      })
    },
  }
}
