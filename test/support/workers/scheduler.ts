import type { Clock } from '../../../src/agent/workers/peers/clock.ts'
import type { Surroundings } from './virtual-time.ts'

// Everything that several workers and a person do with one store, in an order that a seed decides: each call of the store waits until it
// is let through, time passes when nothing else can happen, and a process that dies is never let through again.

/** Numbers from 0 to 1, the same for the same seed. */
export const randomOf = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Waiting {
  readonly who: string
  /** Takes long: time may pass before it is let through. */
  readonly isSlow: boolean
  readonly pass: () => void
}
interface Timer {
  readonly who: string
  readonly at: number
  readonly run: () => void
}

export interface Scheduler extends Surroundings {
  /** Waits until it is let through; for ever, if the process is dead by then. */
  readonly gate: (who: string, isSlow?: boolean) => Promise<void>
  readonly clockOf: (who: string) => Clock
  readonly kill: (who: string) => void
  readonly isDead: (who: string) => boolean
  /** Lets one thing happen. @returns whether there was any */
  readonly step: () => Promise<boolean>
}

/** All that follows from what was let through has happened: in a virtual process, nothing waits for the event loop. */
const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

export interface SchedulerOptions {
  /** The latest time that is waited for, in milliseconds. */
  readonly horizon: number
  /** Time may pass while calls of the store wait: a worker may be so slow that others presume it dead. */
  readonly isSlow: boolean
}

export const scheduler = (seed: number, { horizon, isSlow: mayBeSlow }: SchedulerOptions): Scheduler => {
  const random = randomOf(seed)
  const dead = new Set<string>()
  const waiting = new Set<Waiting>()
  const timers = new Set<Timer>()
  let now = 0

  const any = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)]

  const after = (who: string, ms: number, run: () => void): (() => void) => {
    const timer = { who, at: now + ms, run }
    if (!dead.has(who) && timer.at <= horizon) timers.add(timer)
    return () => timers.delete(timer)
  }

  const pass = async (gate: Waiting): Promise<true> => {
    waiting.delete(gate)
    gate.pass()
    await settled()
    return true
  }

  const ring = async (): Promise<boolean> => {
    let next: Timer | undefined
    for (const timer of timers) if (!next || timer.at < next.at) next = timer
    if (!next) return false
    timers.delete(next)
    now = Math.max(now, next.at)
    next.run()
    await settled()
    return true
  }

  return {
    random,
    after: (ms, run) => after('', ms, run),
    gate: (who, isSlow = false) =>
      new Promise<void>((resolve) => {
        if (!dead.has(who)) waiting.add({ who, isSlow, pass: resolve })
      }),
    clockOf: (who) => ({ now: () => now, after: (ms, run) => after(who, ms, run) }),
    kill: (who) => {
      dead.add(who)
      for (const gate of waiting) if (gate.who === who) waiting.delete(gate)
      for (const timer of timers) if (timer.who === who) timers.delete(timer)
    },
    isDead: (who) => dead.has(who),
    step: async () => {
      const gates = [...waiting]
      const quick = gates.filter(({ isSlow }) => !isSlow)
      const isQuick = quick.length > 0
      if (mayBeSlow && random() < 0.02 && (await ring())) return true
      const gate = any(isQuick && random() < 0.9 ? quick : gates)
      if (gate && (isQuick || random() < 0.5)) return pass(gate)
      return (await ring()) || (gate !== undefined && pass(gate))
    },
  }
}
