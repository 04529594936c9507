import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { News } from '../../src/cli/work/life.ts'

/** A process that works, or is about to. */
export interface Seat {
  worker?: string | undefined
  pid?: number | undefined
  /** How many of its attempts have ended with an answer, whichever process sat here. */
  answered: number
  /** When the last one died, and how long until the next starts: milliseconds. */
  died?: { readonly at: number; readonly restartIn: number } | undefined
}

/** `palimpsest work`, with as many processes as wanted. */
export interface Crew {
  readonly seats: readonly Seat[]
  /** Resolves once all processes work; rejects if they cannot. */
  readonly started: Promise<void>
  /** Kills one of the processes at a moment's notice. Undefined: none is there just now. */
  readonly kill: () => string | undefined
  /** No more steps; resolves once those in progress have ended. */
  readonly drain: () => Promise<void>
  /** Ends all of it at once. */
  readonly end: () => void
}

const file = (path: string): string => new URL(path, import.meta.url).pathname

export interface CrewOptions {
  readonly store: string
  readonly name: string
  readonly processes: number
  readonly env: Readonly<Record<string, string>>
}

export const startCrew = ({ store, name, processes, env }: CrewOptions): Crew => {
  const args = ['work', file('agent.ts'), '--json', '--processes', String(processes), '--name', name]
  const child = spawn(
    process.execPath,
    [file('../../bin/palimpsest.js'), ...args, '--slots', '12', '--conversations', `${name}-`],
    {
      env: { ...process.env, ...env, PALIMPSEST_STORE: store },
      stdio: ['ignore', 'pipe', 'inherit'],
      // In a group of its own: a Ctrl-C is for the demo, which ends it.
      detached: true,
    },
  )
  const exited = once(child, 'exit')
  const seats: readonly Seat[] = Array.from({ length: processes }, () => ({ answered: 0 }))
  const started = Promise.withResolvers<void>()
  createInterface(child.stdout).on('line', (line) => {
    take(seats, JSON.parse(line) as News)
    if (seats.every(({ pid }) => pid !== undefined)) started.resolve()
  })
  void exited.then(() => started.reject(new Error('`palimpsest work` has ended')))
  started.promise.catch(() => {})
  return {
    seats,
    started: started.promise,
    kill: () => {
      const living = seats.filter(({ pid }) => pid !== undefined)
      const { worker, pid } = living[Math.floor(Math.random() * living.length)] ?? {}
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
      return worker
    },
    drain: async () => {
      child.kill('SIGTERM')
      await exited
    },
    end: () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    },
  }
}

const take = (seats: readonly Seat[], news: News): void => {
  if (news.type === 'spare') return
  const seat = seats.find(({ worker }) => worker === (news.type === 'started' ? undefined : news.worker))
  if (!seat) return
  if (news.type === 'step') {
    if (news.outcome === 'settled') seat.answered++
    return
  }
  seat.worker = news.type === 'started' ? news.worker : undefined
  seat.pid = news.type === 'started' ? news.pid : undefined
  seat.died =
    news.type === 'started' ? undefined : { at: performance.now(), restartIn: news.restartIn ?? Infinity }
}
