import type { Clock } from '../../../src/agent/workers/peers/clock.ts'

/** Lets everything happen that waits for no timer. */
export const settled = async (): Promise<void> => {
  for (let round = 0; round < 20; round++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** A clock that is set by hand. */
export const handClock = () => {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()
  let now = 0
  const clock: Clock = {
    now: () => now,
    after: (ms, run) => {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  }
  /** Lets so many milliseconds pass, one timer after the other. */
  const pass = async (ms: number): Promise<void> => {
    const end = now + ms
    for (;;) {
      await settled()
      const [next] = [...timers].toSorted((one, other) => one.at - other.at)
      if (!next || next.at > end) break
      timers.delete(next)
      now = next.at
      next.run()
    }
    now = end
    await settled()
  }
  return { clock, pass }
}
