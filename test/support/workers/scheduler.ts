import type { Clock } from '../../../src/workers/clock.ts'

// Everything that several workers and a person do with one store, in an order that a seed decides: each call of the store waits until it
// is let through, time passes only when nothing else can happen, and a process that dies is never let through again.

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

export interface Scheduler {
  readonly random: () => number
  /** Waits until it is let through; for ever, if the process is dead by then. */
  readonly gate: (who: string, isSlow?: boolean) => Promise<void>
  readonly clockOf: (who: string) => Clock
  readonly kill: (who: string) => void
  readonly isDead: (who: string) => boolean
  /** Something has failed that is tried again after a real, short wait. */
  readonly retried: () => void
  /** Lets one thing happen. @returns whether there was any */
  readonly step: () => Promise<boolean>
}

const never = new Promise<never>(() => {})
const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** @param horizon the latest time that is waited for, in milliseconds */
export const scheduler = (seed: number, horizon: number): Scheduler => {
  const random = randomOf(seed)
  const dead = new Set<string>()
  const waiting = new Set<Waiting>()
  const timers = new Set<Timer>()
  let now = 0
  let retries = 0

  const any = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)]

  const settle = async (): Promise<void> => {
    for (let quiet = 0, before = -1; quiet < 2; before = waiting.size) {
      await round()
      quiet = waiting.size === before ? quiet + 1 : 0
    }
  }

  const pass = async (gate: Waiting): Promise<true> => {
    waiting.delete(gate)
    gate.pass()
    await settle()
    return true
  }

  return {
    random,
    gate: (who, isSlow = false) =>
      dead.has(who) ? never : new Promise<void>((resolve) => waiting.add({ who, isSlow, pass: resolve })),
    clockOf: (who) => ({
      now: () => now,
      after: (ms, run) => {
        const timer = { who, at: now + ms, run }
        if (!dead.has(who)) timers.add(timer)
        return () => timers.delete(timer)
      },
    }),
    kill: (who) => {
      dead.add(who)
      for (const gate of waiting) if (gate.who === who) waiting.delete(gate)
      for (const timer of timers) if (timer.who === who) timers.delete(timer)
    },
    isDead: (who) => dead.has(who),
    retried: () => {
      retries++
    },
    step: async () => {
      const gates = [...waiting]
      const quick = gates.filter(({ isSlow }) => !isSlow)
      const gate = any(quick.length > 0 && random() < 0.9 ? quick : gates)
      if (gate && (quick.length > 0 || random() < 0.5)) return pass(gate)
      if (retries > 0) {
        retries = 0
        await new Promise((resolve) => setTimeout(resolve, 4))
        return true
      }
      const [next] = [...timers].toSorted((one, other) => one.at - other.at)
      if (!next || next.at > horizon) return gate ? pass(gate) : false
      timers.delete(next)
      now = Math.max(now, next.at)
      next.run()
      await settle()
      return true
    },
  }
}
