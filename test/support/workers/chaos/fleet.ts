import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { start } from '../../node.ts'
import type { Place } from './places.ts'
import type { Proxy } from './proxy.ts'

/** What a worker process is told. Times in milliseconds. */
export interface WorkerSpec {
  readonly url: string
  /** The URL of the Messages API. */
  readonly model: string
  readonly effects: string
  readonly ttl: number
  readonly slots: number
  readonly grace: number
  /** Without any sign of a reply, before its call has stalled. */
  readonly stall: number
  /** What its conversations begin with. */
  readonly prefix: string
  /** By how many hours its wall clock may be wrong; 0: it is right. */
  readonly hours: number
}

export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  /** What the log calls it. */
  readonly id: string
  readonly network: Proxy | undefined
}

/** When a worker could not be relied on, by the clock of the test. */
export interface Trouble {
  readonly worker: string
  readonly what: 'killed' | 'frozen' | 'cut' | 'stopped'
  readonly from: number
  to: number
  /** How many conversations it held then. */
  readonly held: number
}

export interface Fleet {
  readonly living: readonly Child[]
  readonly troubles: readonly Trouble[]
  /** From now on a worker cannot be relied on. */
  readonly trouble: (child: Child, what: Trouble['what']) => Trouble
  readonly begin: () => Promise<Child>
  /** Kills it and starts another. */
  readonly kill: (child: Child) => Promise<void>
  readonly freeze: (child: Child, ms: number) => Promise<void>
  /** Tells it to stop, and starts another first. @returns its exit code */
  readonly replace: (child: Child) => Promise<number | undefined>
  readonly close: () => Promise<void>
}

/**
 * @param isDead told of what was killed
 * @param heldBy how many conversations a worker holds
 */
export const fleet = (
  place: Place,
  spec: Omit<WorkerSpec, 'url'>,
  isDead: (child: Child) => Promise<void>,
  heldBy: (worker: string) => number,
): Fleet => {
  const living: Child[] = []
  const troubles: Trouble[] = []
  const all: ChildProcess[] = []
  let isOver = false

  const trouble: Fleet['trouble'] = ({ id }, what) => {
    const one = { worker: id, what, from: performance.now(), to: Infinity, held: heldBy(id) }
    troubles.push(one)
    return one
  }
  const leave = (child: Child): boolean => {
    const at = living.indexOf(child)
    if (at >= 0) living.splice(at, 1)
    return at >= 0
  }
  const begin = async (): Promise<Child> => {
    const { url, network } = await place.way()
    const started = start('workers/children/worker.ts', JSON.stringify({ ...spec, url } satisfies WorkerSpec))
    all.push(started)
    const stdout = started.stdout as NonNullable<ChildProcess['stdout']>
    const id = await Promise.race([once(stdout, 'data'), once(started, 'exit').then(() => '')])
    const child = { process: started, pid: started.pid ?? 0, id: String(id).trim(), network }
    if (isOver) started.kill('SIGKILL')
    else living.push(child)
    return child
  }

  return {
    living,
    troubles,
    trouble,
    begin,
    kill: async (child) => {
      if (isOver || !leave(child)) return
      trouble(child, 'killed')
      child.process.kill('SIGKILL')
      await isDead(child)
      await begin()
    },
    freeze: async (child, ms) => {
      const one = trouble(child, 'frozen')
      child.process.kill('SIGSTOP')
      await sleep(ms)
      child.process.kill('SIGCONT')
      one.to = performance.now()
    },
    replace: async (child) => {
      await begin()
      if (!leave(child)) return undefined
      trouble(child, 'stopped')
      const exit = once(child.process, 'exit')
      child.process.kill('SIGTERM')
      return Number((await exit)[0])
    },
    close: async () => {
      isOver = true
      const open = all.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      const ended = open.map((child) => once(child, 'exit'))
      for (const child of open) {
        child.kill('SIGCONT')
        child.kill('SIGKILL')
      }
      await Promise.all(ended)
    },
  }
}
