import { realpathSync, watch } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

// Delays before the next check, in milliseconds.
/** Delay after the system reports a write to the WAL, in milliseconds. The report arrives before the commit can be read. */
const soonest = 1
/** Delay after a commit, in milliseconds; it is short because more commits are likely to follow. */
const soon = 3
/**
 * Maximum delay without a report from the system, reached in steps, in milliseconds. A slow disk may still be busy with a commit that
 * the system has reported.
 */
const longest = 20
/** Delay once the system is known to report writes, in milliseconds. */
const told = 50

/**
 * Calls `changed` soon after another connection has committed, until the signal aborts. When a check finds no commit, the operating
 * system watches the WAL. After the system's first report, frequent polling costs less than watching and is used until a check finds no
 * commit. If the system reports nothing (too many watchers, some mounts), only polling is used.
 */
export const watchOthers = (
  db: DatabaseSync,
  path: string,
  changed: () => void,
  signal: AbortSignal,
): void => {
  const version = db.prepare('PRAGMA data_version')
  version.setReturnArrays(true)
  let seen: unknown
  let gap = longest
  let hasTold = false
  let timer: NodeJS.Timeout | undefined
  let unwatch: (() => void) | undefined

  /**
   * Reports whether other connections have committed since the last call. Also returns true after an error, because the next read will
   * report that error.
   */
  const isNew = (): boolean => {
    const before = seen
    try {
      const row: unknown = version.get()
      seen = Array.isArray(row) ? row[0] : undefined
      return seen !== before
    } catch {
      return true
    }
  }
  const wait = (ms: number): void => {
    clearTimeout(timer)
    gap = ms
    timer = setTimeout(look, gap)
  }
  const tell = (): void => {
    hasTold = true
    unwatch?.()
    unwatch = undefined
    wait(soonest)
  }
  const look = (): void => {
    // The last check found nothing. From here on, the system reports any write, or this check finds it.
    if (gap > soon) unwatch ??= tellOf(path, tell)
    if (isNew()) {
      changed()
      wait(soon)
    } else if (gap >= longest) wait(hasTold ? told : longest)
    else wait(gap * 1.25)
  }
  const stop = (): void => {
    clearTimeout(timer)
    unwatch?.()
  }

  isNew()
  look()
  signal.addEventListener('abort', stop, { once: true })
}

/**
 * Calls a function whenever a file's WAL is written to, if the system supports this.
 *
 * @returns a function that stops watching
 */
const tellOf = (path: string, tell: () => void): (() => void) => {
  try {
    const watcher = watch(`${realpathSync(path)}-wal`, { persistent: false }, tell)
    const close = (): void => watcher.close()
    watcher.on('error', close)
    return close
  } catch {
    return () => {}
  }
}
