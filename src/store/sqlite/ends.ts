import type { DatabaseSync } from 'node:sqlite'
import { hashOf, type StoredEvent } from '../../events/codec.ts'

/** How often ends are written while appends go on, in milliseconds. */
const interval = 100
/** How many streams' ends wait at most. */
const mostWaiting = 1_000

/** The ends of the streams that this process has appended to, to be remembered beside them. */
export interface StreamEnds {
  /** The event was kept as the stream's last. */
  readonly note: (stream: number, revision: number, event: StoredEvent) => void
  /** Writes those that wait, inside the transaction at hand. */
  readonly write: () => void
  readonly areWaiting: () => boolean
  readonly stop: () => void
}

/**
 * An end in every transaction would be one more page to write for each append. So ends are written ten times a second, and on
 * closing; a process that is killed leaves older ones, which are as true.
 *
 * @param due told when ends should be written
 */
export const streamEnds = (db: DatabaseSync, due: () => void): StreamEnds => {
  const update = db.prepare('UPDATE streams SET last = ?1, hash = ?2 WHERE id = ?3 AND ifnull(last, -1) < ?1')
  const waiting = new Map<number, { readonly revision: number; readonly event: StoredEvent }>()
  let timer: NodeJS.Timeout | undefined
  return {
    note: (stream, revision, event) => {
      waiting.set(stream, { revision, event })
      if (waiting.size >= mostWaiting) due()
      timer ??= setTimeout(() => {
        timer = undefined
        if (waiting.size > 0) due()
      }, interval).unref()
    },
    write: () => {
      for (const [stream, { revision, event }] of waiting) update.run(revision, hashOf(event), stream)
      waiting.clear()
    },
    areWaiting: () => waiting.size > 0,
    stop: () => clearTimeout(timer),
  }
}
