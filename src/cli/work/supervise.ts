import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { toError } from '../../result/typed-error.ts'
import type { CliError } from '../errors.ts'
import { type ProcessExit, type Life, live, type ProcessControl } from './life.ts'

interface Starting {
  /** True if the process waits to replace another process. */
  readonly isSpare: boolean
}

export interface SupervisorOptions extends ProcessControl {
  /** Number of working processes. With two or more, an additional process stands by. */
  readonly processes: number
  readonly start: (starting: Starting) => ChildProcess
}

const firstDelay = 100
const longestDelay = 10_000
const healthy = 60_000

/**
 * Returns the delay before a restart, in milliseconds. The delay doubles each time, up to 10,000, and starts again at 100 after a
 * process that has lived for a minute.
 */
export const restartDelay = (before: number | undefined, lived: number): number =>
  before === undefined || lived >= healthy ? firstDelay : Math.min(before * 2, longestDelay)

/**
 * Keeps `processes` worker processes alive until `drain` aborts. If a process fails before any has ended otherwise, ends them all and
 * throws that error.
 */
export const supervise = async ({ processes, start, ...watched }: SupervisorOptions): Promise<void> => {
  const { onNews, onDraining, drain } = watched
  let hasWorked = false
  let hasStarted = false
  let refused: CliError | undefined
  let spare: Life | undefined
  const working = Promise.withResolvers<void>()

  const begin = (isSpare = false): Life =>
    live({
      child: start({ isSpare }),
      isSpare,
      ...watched,
      onDraining: (grace) => onDraining(grace, refused?.message),
      onWorking: () => {
        hasStarted = true
        working.resolve()
      },
    })

  const tellEnded = ({ failure, ...ended }: ProcessExit, restartIn?: number): void => {
    const error = failure && { error: failure.message }
    onNews({ ...ended, ...error, type: 'ended', ...(restartIn !== undefined && { restartIn }) })
  }
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: drain.signal }).catch(() => {})

  const seat = async (): Promise<void> => {
    let delay: number | undefined
    let life: Life | undefined
    while (!drain.signal.aborted) {
      const began = performance.now()
      const ended = await (life ?? begin()).ended
      const { failure } = ended
      hasWorked ||= !failure
      // The store was there: its file has been moved, and may be put back.
      if (failure && failure._tag !== 'StoreNotFound' && !hasWorked) {
        const message = `the command ends, because a process cannot start: ${failure.message}`
        refused ??= hasStarted ? { ...failure, message } : failure
        drain.abort()
      }
      if (refused) return
      if (drain.signal.aborted) return tellEnded(ended)
      delay = restartDelay(delay, performance.now() - began)
      // The standby process replaces the one that has ended.
      life = spare
      spare = undefined
      tellEnded(ended, life ? 0 : delay)
      if (life) life.stepIn()
      else await pause(delay)
    }
    // The standby process may have stepped in just as all work was to end.
    await life?.ended
  }

  const besides = async (): Promise<void> => {
    let delay: number | undefined
    if (!drain.signal.aborted) await Promise.race([working.promise, once(drain.signal, 'abort')])
    while (!drain.signal.aborted) {
      const began = performance.now()
      const life = begin(true)
      spare = life
      const ended = await Promise.race([life.ended, life.steppedIn])
      if (spare === life) spare = undefined
      delay = restartDelay(delay, performance.now() - began)
      if (ended) tellEnded(ended, drain.signal.aborted ? undefined : delay)
      await pause(delay)
    }
  }

  await Promise.all([...Array.from({ length: processes }, seat), ...(processes > 1 ? [besides()] : [])])
  if (refused) throw toError(refused)
}
