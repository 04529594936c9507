import type { DatabaseSync } from 'node:sqlite'
import { hashOf, type StoredEvent } from '../../events/codec.ts'

/** How often ends are written during appends, in milliseconds. */
const interval = 100
/** The most streams whose ends wait to be written. */
const mostWaiting = 1_000

/** Writes where the streams that this process has appended to end. */
export interface StreamEnds {
  /** Takes note of a committed event, the stream's last. */
  readonly note: (stream: number, revision: number, event: StoredEvent) => void
  /** Writes the waiting ends, inside the transaction at hand. */
  readonly write: () => void
  readonly areWaiting: () => boolean
  readonly stop: () => void
}

/**
 * An end in every transaction would cost each append one more page. So ends are written ten times a second, and on closing; a process
 * that is killed leaves older ones, which are just as valid. They are written with the next append: a transaction of their own would be one
 * more wait for the disk, for everybody.
 *
 * @param ride called when the next transaction should write ends
 * @param due called when they should be written at once: nothing was appended meanwhile, or too many wait
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
