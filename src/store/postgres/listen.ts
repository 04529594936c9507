import { pause } from '../../result/timers.ts'
import { channelOf } from './schema.ts'
import type { SessionPool } from './session.ts'
import type { PostgresSettings } from './settings.ts'

/** Wait before the next attempt to listen, in milliseconds: the first, and the longest. */
const firstPause = 50
const longestPause = 2_000

/**
 * Calls a function whenever a session has appended, until the signal aborts. What is sent while the connection is away is lost, so the
 * function is also called, without a process id, each time after listening has begun. With a pooler, nothing is received: followers
 * poll.
 *
 * @param changed receives the process id of the session that has appended
 */
export const listenForOthers = (
  { schema }: PostgresSettings,
  pool: SessionPool,
  signal: AbortSignal,
  changed: (pid?: number) => void,
): void => {
  const listen = async (): Promise<void> => {
    for (let wait = firstPause; !signal.aborted; wait = Math.min(2 * wait, longestPause)) {
      try {
        const session = await pool.open()
        const over = new Promise<void>((resolve) => session.whenOver(resolve))
        signal.addEventListener('abort', session.end, { once: true })
        if (signal.aborted || session.isPooled) session.end()
        if (session.isPooled) return
        await session.listen(channelOf(schema), changed)
        session.keepAlive(false)
        changed()
        wait = firstPause
        await over
      } catch {
        // The reads of the followers report what is wrong.
      }
      await pause(wait, signal)
    }
  }
  void listen()
}
