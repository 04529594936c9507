import type { DatabaseSync } from 'node:sqlite'
import { hashOf, type StoredEvent } from '../../events/codec.ts'

/** Interval at which the ends of streams are written during appends, in milliseconds. */
const interval = 100
/** Number of streams with unwritten ends that causes all ends to be written at once. */
const mostWaiting = 1_000

/** Recorder of the ends of the streams to which this process has appended. */
export interface StreamEnds {
  /** Records the last committed event of a stream as the stream's end, to be written later. */
  readonly note: (stream: number, revision: number, event: StoredEvent) => void
  /** Writes the waiting ends inside the current transaction. */
  readonly write: () => void
  readonly areWaiting: () => boolean
  readonly stop: () => void
}

/**
 * Creates a recorder that writes the ends of streams ten times a second and on closing. Writing an end in every transaction would cost
 * each append one more page. The ends are written with the next append, because with a separate transaction, every writer would have to
 * wait for the disk once more. A process that is killed leaves the ends recorded earlier, which are still valid.
 *
 * @param ride function called when the next transaction should write the ends
 * @param due function called when the ends should be written at once, because nothing was appended in the meantime or too many ends are
 * waiting
 */
export const streamEnds = (db: DatabaseSync, ride: () => void, due: () => void): StreamEnds => {
  const update = db.prepare('UPDATE streams SET last = ?1, hash = ?2 WHERE id = ?3 AND ifnull(last, -1) < ?1')
  const waiting = new Map<number, { readonly revision: number; readonly event: StoredEvent }>()
  let timer: NodeJS.Timeout | undefined
  let isRiding = false
  const tick = (): void => {
    timer = undefined
    if (waiting.size === 0) return
    if (isRiding) return due()
    isRiding = true
    ride()
    start()
  }
  const start = (): void => {
    timer ??= setTimeout(tick, interval).unref()
  }
  return {
    note: (stream, revision, event) => {
      waiting.set(stream, { revision, event })
      if (waiting.size >= mostWaiting) due()
      start()
    },
    write: () => {
      for (const [stream, { revision, event }] of waiting) update.run(revision, hashOf(event), stream)
      waiting.clear()
      isRiding = false
    },
    areWaiting: () => waiting.size > 0,
    stop: () => clearTimeout(timer),
  }
}
