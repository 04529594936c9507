import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHeard } from '../../node.ts'
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
  /** Without any sign of a reply, before a call for poison has stalled. However busy the machine, no other call does. */
  readonly stall: number
  /** What its conversations begin with. */
  readonly prefix: string
  /** By how many hours its wall clock may be wrong; 0: it is right. */
  readonly hours: number
  /** It stands by until SIGUSR2. */
  readonly standby: boolean
}

/** A process, and what it has said on stderr. */
interface Started {
  readonly process: ChildProcess
  id: string
  said: string
  /** Somebody has ended it, or is about to. */
  isEnded: boolean
}

const stateOf = ({ process: { pid, exitCode, signalCode }, id, said }: Started): string => {
  const end = exitCode ?? signalCode
  return `${pid} ${id}: ${end === null ? 'lives' : `ended with ${end}`}${said === '' ? '' : `\n${said}`}`
}

export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  /** What the log calls it. */
  readonly id: string
  readonly network: Proxy | undefined
  /** When it could begin to work, by the clock of the test. */
  readonly at: number
  /** It only takes what others have died of. */
  isStandby: boolean
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
  /** All that there were. */
  readonly begun: readonly Child[]
  /** Resolves to what is known of a worker that has ended although nobody has ended it. */
  readonly lost: Promise<string>
  /** Each process that there was: whether it lives, how it ended, and its last words. */
  readonly states: () => readonly string[]
  readonly troubles: readonly Trouble[]
  /** From now on a worker cannot be relied on. */
  readonly trouble: (child: Child, what: Trouble['what']) => Trouble
  readonly begin: (isStandby?: boolean) => Promise<Child>
  /** Kills it. Whoever stands by takes its place, as with `palimpsest work`; another is started. */
  readonly kill: (child: Child) => Promise<void>
  readonly freeze: (child: Child, ms: number) => Promise<void>
  /** Tells it to stop, and starts another first. @returns its exit code */
  readonly replace: (child: Child) => Promise<number | undefined>
  readonly close: () => Promise<void>
}

/** The first line of a process; rejects if it ends without one. */
export const said = async (process: ChildProcess): Promise<unknown> => {
  const stdout = process.stdout as NonNullable<ChildProcess['stdout']>
  const ended = once(process, 'close').then(([code, signal]) => {
    throw new Error(`a process has ended without a word, with ${String(code ?? signal)}`)
  })
  // It may end later.
  ended.catch(() => {})
  return Promise.race([once(stdout, 'data'), ended])
}

/**
 * @param program that of the worker processes
 * @param isDead told of what was killed
 * @param heldBy how many conversations a worker holds
 */
export const fleet = (
  program: string,
  place: Place,
  spec: Omit<WorkerSpec, 'url' | 'standby'>,
  isDead: (child: Child) => Promise<void>,
  heldBy: (worker: string) => number,
): Fleet => {
  const living: Child[] = []
  const begun: Child[] = []
  const troubles: Trouble[] = []
  const all: Started[] = []
  const lost = Promise.withResolvers<string>()
  let isOver = false

  const trouble: Fleet['trouble'] = ({ id }, what) => {
    const one = { worker: id, what, from: performance.now(), to: Infinity, held: heldBy(id) }
    troubles.push(one)
    return one
  }
  const leave = (child: Child): boolean => {
    const at = living.indexOf(child)
    if (at >= 0) living.splice(at, 1)
    for (const started of all) started.isEnded ||= started.process === child.process
    return at >= 0
  }
  /** At the end of a scene processes are killed whose start somebody waits for. */
  const unlessOver = (started: Started) => (): string => {
    if (isOver) return ''
    throw new Error(`nobody has ended this worker: ${stateOf(started)}`)
  }
  const begin = async (isStandby = false): Promise<Child> => {
    const { url, network } = await place.way()
    const process = startHeard(
      program,
      JSON.stringify({ ...spec, url, standby: isStandby } satisfies WorkerSpec),
    )
    const started: Started = { process, id: '', said: '', isEnded: false }
    all.push(started)
    process.stderr?.on(
      'data',
      (chunk: Buffer) => (started.said = (started.said + chunk.toString()).slice(-4_000)),
    )
    process.once('close', () => {
      if (!started.isEnded && !isOver) lost.resolve(stateOf(started))
    })
    started.id = String(await said(process).catch(unlessOver(started))).trim()
    const child: Child = {
      process,
      pid: process.pid ?? 0,
      id: started.id,
      network,
      at: performance.now(),
      isStandby,
    }
    begun.push(child)
    if (isOver) process.kill('SIGKILL')
    else living.push(child)
    return child
  }

  return {
    living,
    begun,
    lost: lost.promise,
    states: () => all.map(stateOf),
    troubles,
    trouble,
    begin,
    kill: async (child) => {
      if (isOver || !leave(child)) return
      trouble(child, 'killed')
      child.process.kill('SIGKILL')
      await isDead(child)
      const next = child.isStandby ? child : living.find((one) => one.isStandby)
      if (next && next !== child) {
        next.isStandby = false
        next.process.kill('SIGUSR2')
      }
      await begin(next !== undefined)
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
      const processes = all.map(({ process }) => process)
      const open = processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      const ended = open.map((child) => once(child, 'exit'))
      for (const child of open) {
        child.kill('SIGCONT')
        child.kill('SIGKILL')
      }
      await Promise.all(ended)
    },
  }
}
