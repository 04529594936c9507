import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { orThrow, run } from '../../result/steps.ts'
import type { Checkpoint } from '../../store/port.ts'
import { restored, settledEnd, writeSettled } from './settled.ts'
import type { BoardSnapshot } from './settled-parts.ts'
import type { Shift } from './shift.ts'

/** A number from 0 to 1 for each worker. */
const shareOf = (worker: string): number => Number.parseInt(hash('sha1', worker).slice(0, 8), 16) / 2 ** 32

/** How a worker begins with what others have settled, and settles what it knows. */
export interface SnapshotKeeper {
  /** Restores what is settled. @returns where to read on. Rejects with a `StoreError` */
  readonly begin: () => Promise<Checkpoint | undefined>
  /** Takes note of an event that the worker has taken in. */
  readonly received: (checkpoint: Checkpoint) => void
  /** Settles what the worker knows, if it is time to. @param isUp it knows all: before that, it is time less often */
  readonly settle: (isUp: boolean) => void
}

/** So many TTLs pass between two checkpoints of a worker: beside its beats, they hardly count. */
const pauses = 18
/** So many events are received for each step that is written. */
const perStep = 10
/** Who reads a store for the first time settles so many times less often: if it ends before that, the next one need not begin again. */
const onTheWay = 100
/** A worker that is silent for so many TTLs and holds nothing is forgotten. */
const forgotten = 1_000

export const settling = ({ worker, settings, around, known }: Shift): SnapshotKeeper => {
  const { conversations, ttl, settleAfter, answerAll } = settings
  const { store, clock } = around
  // All receive the same events: one of them is the first to write.
  const most = settleAfter * (1 + shareOf(worker))
  let at: Checkpoint | undefined
  let received = 0
  let notBefore = -Infinity
  /** The last revision of the stream of these checkpoints that this worker knows of. */
  let end = -1
  let isWriting = false

  const isDue = (isUp: boolean): boolean => {
    const least = isUp ? most : most * onTheWay
    return received >= Math.max(least, perStep * known.steps.size) && (!isUp || clock.now() >= notBefore)
  }

  const write = async (settled: BoardSnapshot): Promise<void> => {
    const now = await run(settledEnd(store, conversations))
    if (E.isLeft(now)) return
    const isLast = now.right === end
    end = now.right
    // Another has settled something of late.
    if (!isLast) return
    const written = await run(writeSettled(around, conversations, settled, end))
    if (E.isRight(written)) end = written.right
  }

  // What nobody has asked for is of no concern to others, and they have settled nothing about it.
  if (answerAll) return { begin: () => Promise.resolve(undefined), received: () => {}, settle: () => {} }
  return {
    begin: async () => {
      end = await orThrow(run(settledEnd(store, conversations)))
      return restored(store, conversations, known, clock.now())
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
