import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { AttemptReport } from '../../index.ts'
import { timer } from '../../result/timers.ts'
import { type CliError, failureOf } from '../errors.ts'
import { type ChildMessage, extra, openWord, stepInWord, stopWord } from './child-message.ts'

/** Events of the worker processes. */
export type News =
  | { readonly type: 'started'; readonly worker: string; readonly pid: number | undefined }
  /** The process stands by. A `started` event follows when it replaces a process that has ended. */
  | { readonly type: 'spare'; readonly worker: string; readonly pid: number | undefined }
  | ({ readonly type: 'step'; readonly worker: string } & AttemptReport)
  | {
      readonly type: 'ended'
      readonly worker?: string
      /** Exit code, or the signal that killed the process. */
      readonly by: number | NodeJS.Signals
      /** Conversations whose steps were in progress when the process died; absent if there were none. */
      readonly conversations?: readonly string[]
      /** Time until the restart, in milliseconds: 0 if a standby process takes over, absent if no process is to be restarted. */
      readonly restartIn?: number
      readonly error?: string
    }

export interface ProcessControl {
  readonly onNews: (news: News) => void
  /** Called when a process has loaded the agent. The process opens the store once the promise resolves, and ends if it rejects. */
  readonly onLoaded: () => Promise<void>
  /** Called as soon as a worker has died without reporting that it has stopped, with the conversations of its steps in progress. */
  readonly onDeath: (worker: string, reason: string, conversations: readonly string[]) => Promise<void>
  /** Called as a worker is told to end: with the milliseconds that its turns may take, and the error that ends the command, if any. */
  readonly onDraining: (grace: number, error?: string) => void
  /** Called when a process takes a step although the file of its agent has changed since it was loaded. */
  readonly onChanged: () => void
  /** Starts an orderly end of all work when aborted: no new steps begin, but those in progress may finish. */
  readonly drain: AbortController
  /** Kills all processes at once when aborted. */
  readonly end: AbortController
}

/** Time, in milliseconds, that a process may take to end if it has not begun to work and therefore has no steps to finish. */
const loading = 10_000
/** Extra time, in milliseconds, before killing a process that should have ended by itself. */
const deaf = 500

export interface ProcessExit {
  readonly worker?: string
  readonly by: number | NodeJS.Signals
  readonly conversations?: readonly string[]
  readonly failure?: CliError
}

export /** Lifetime of a process, from its start to its end. */
interface Life {
  readonly ended: Promise<ProcessExit>
  /** Tells a process that stands by to replace one that has ended. */
  readonly stepIn: () => void
  /** Resolves when the process replaces another one. */
  readonly steppedIn: Promise<void>
}

interface Living extends ProcessControl {
  readonly child: ChildProcess
  readonly isSpare: boolean
  /** Called when the process has begun to work or is on standby. */
  readonly onWorking: () => void
}

/** Watches a process: reports its events, and kills it if it does not end in time after `drain` aborts. */
export const live = ({
  child,
  isSpare,
  onNews,
  onLoaded,
  onDeath,
  onDraining,
  onChanged,
  drain,
  end,
  onWorking,
}: Living): Life => {
  let worker: string | undefined
  let failure: CliError | undefined
  let grace: number | undefined
  let last: NodeJS.Timeout | undefined
  let isBy = isSpare
  let hasStopped = false
  const taken = new Set<string>()
  const steppedIn = Promise.withResolvers<void>()
  const tell = (): void => {
    if (worker !== undefined) onNews({ type: isBy ? 'spare' : 'started', worker, pid: child.pid })
  }
  child.on('message', (message) => {
    const said = message as ChildMessage
    if (said.type === 'failed') failure = said.failure
    else if (said.type === 'changed') onChanged()
    else if (said.type === 'taken') taken.add(said.conversation)
    else if (said.type === 'stopped') hasStopped = true
    else if (said.type === 'loaded') void openIt()
    // Its steps are in the file that was replaced.
    else if (said.type === 'replaced') taken.clear()
    else if (said.type === 'step') {
      taken.delete(said.step.conversation)
      onNews({ ...said.step, type: 'step', worker: worker ?? '' })
    } else {
      ;({ worker, grace } = said)
      tell()
      onWorking()
    }
  })
  const endIt = (): void => void child.kill('SIGKILL')
  const openIt = async (): Promise<void> => {
    if (drain.signal.aborted) return
    try {
      await onLoaded()
      if (child.connected) child.send(openWord, () => {})
    } catch (error) {
      failure = failureOf(error)
      endIt()
    }
  }
  const drainIt = (): void => {
    if (child.connected) child.send(stopWord, () => {})
    if (grace !== undefined && !isBy) onDraining(grace)
    // A process that computes without a pause receives no messages and cannot end itself.
    last = timer((grace === undefined ? loading : grace + extra) + deaf, endIt)
  }
  drain.signal.addEventListener('abort', drainIt)
  end.signal.addEventListener('abort', endIt)
  const ending = async (): Promise<ProcessExit> => {
    // All messages of the process have arrived once the channel is closed.
    const [[code, signal]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')])
    clearTimeout(last)
    drain.signal.removeEventListener('abort', drainIt)
    end.signal.removeEventListener('abort', endIt)
    const by = (signal ?? code) as ProcessExit['by']
    const conversations = [...taken]
    // An agent may end its process with code 0.
    const isDeath = by !== 0 || !hasStopped
    if (worker !== undefined && isDeath)
      await onDeath(worker, typeof by === 'number' ? `exit ${by}` : by, conversations)
    const dead = isDeath && conversations.length > 0 && { conversations }
    return { ...(worker !== undefined && { worker }), by, ...dead, ...(failure && { failure }) }
  }
  const stepIn = (): void => {
    isBy = false
    if (child.connected) child.send(stepInWord, () => {})
    tell()
    steppedIn.resolve()
  }
  return { ended: ending(), stepIn, steppedIn: steppedIn.promise }
}
