import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StepTaken } from '../../index.ts'
import { toError } from '../../result/typed.ts'
import type { Failure } from '../errors.ts'
import { type Said, stopWord } from './said.ts'

/** What happens to the processes. Times in milliseconds. */
export type News =
  | { readonly type: 'started'; readonly worker: string; readonly pid: number | undefined }
  | ({ readonly type: 'step'; readonly worker: string } & StepTaken)
  | {
      readonly type: 'ended'
      readonly worker?: string
      /** How: its exit code, or the signal that killed it. */
      readonly by: number | NodeJS.Signals
      /** When it is started again; never, if the work is over. */
      readonly restartIn?: number
      readonly error?: string
    }

export interface Supervised {
  readonly processes: number
  /** Once the store's file was replaced, it is there or will be put back: no process may create another one in its place. */
  readonly start: (isReplaced: boolean) => ChildProcess
  readonly onNews: (news: News) => void
  /** Is told at once of a worker that has died without saying so. */
  readonly onDeath: (worker: string, reason: string) => Promise<void>
  /** No more steps; those in progress may end. */
  readonly drain: AbortController
  /** Ends all processes at once. */
  readonly end: AbortController
}

const firstDelay = 100
const longestDelay = 10_000
const healthy = 60_000
/** How long a process that has not begun to work may take to end: it has nothing to finish. */
const loading = 10_000
/** A process that should have ended itself is ended after so long. */
const deaf = 500

/** How long to wait before a process is started again: longer each time, unless the last one has lived for a minute. */
export const restartDelay = (before: number | undefined, lived: number): number =>
  before === undefined || lived >= healthy ? firstDelay : Math.min(before * 2, longestDelay)

interface Ended {
  readonly worker?: string
  readonly by: number | NodeJS.Signals
  readonly failure?: Failure
}

/** Keeps so many worker processes alive until all is drained. Throws what was wrong if the first one cannot begin to work. */
export const supervise = async ({
  processes,
  start,
  onNews,
  onDeath,
  drain,
  end,
}: Supervised): Promise<void> => {
  let hasWorked = false
  let isReplaced = false
  let refused: Failure | undefined

  const live = async (): Promise<Ended> => {
    let worker: string | undefined
    let failure: Failure | undefined
    let patience = loading
    let last: NodeJS.Timeout | undefined
    const child = start(isReplaced)
    child.on('message', (message) => {
      const said = message as Said
      if (said.type === 'failed') failure = said.failure
      else if (said.type === 'replaced') isReplaced = true
      else if (said.type === 'step') onNews({ ...said.step, type: 'step', worker: worker ?? '' })
      else {
        ;({ worker, patience } = said)
        onNews({ type: 'started', worker, pid: child.pid })
      }
    })
    const endIt = (): void => void child.kill('SIGKILL')
    const drainIt = (): void => {
      if (child.connected) child.send(stopWord, () => {})
      // Whoever computes without a pause hears nothing, and cannot end itself.
      last = setTimeout(endIt, patience + deaf)
    }
    drain.signal.addEventListener('abort', drainIt)
    end.signal.addEventListener('abort', endIt)
    // What it has said is here once the channel is closed.
    const [[code, signal]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')])
    clearTimeout(last)
    drain.signal.removeEventListener('abort', drainIt)
    end.signal.removeEventListener('abort', endIt)
    const by = (signal ?? code) as Ended['by']
    if (worker !== undefined && by !== 0) await onDeath(worker, typeof by === 'number' ? `exit ${by}` : by)
    return { by, ...(worker !== undefined && { worker }), ...(failure && { failure }) }
  }

  const seat = async (): Promise<void> => {
    let delay: number | undefined
    while (!drain.signal.aborted) {
      const began = performance.now()
      const { failure, ...ended } = await live()
      hasWorked ||= !failure
      if (failure && !hasWorked) {
        refused ??= failure
        drain.abort()
      }
      if (refused) return
      const error = failure ? { error: failure.message } : {}
      if (drain.signal.aborted) return onNews({ ...ended, ...error, type: 'ended' })
      delay = restartDelay(delay, performance.now() - began)
      onNews({ ...ended, ...error, type: 'ended', restartIn: delay })
      await sleep(delay, undefined, { signal: drain.signal }).catch(() => {})
    }
  }

  await Promise.all(Array.from({ length: processes }, seat))
  if (refused) throw toError(refused)
}
