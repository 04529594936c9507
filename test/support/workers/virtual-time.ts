import { syncBuiltinESMExports } from 'node:module'
import promised from 'node:timers/promises'
import { breath } from '../../../src/store/breath.ts'

// What else a process takes from its surroundings: timers, random numbers, how long something took. With these replaced, a seed decides
// everything that happens in it, and no time is spent on waiting.

/** Where time and random numbers come from. */
export interface Surroundings {
  readonly random: () => number
  /** Calls a function after so many milliseconds. @returns ends it */
  readonly after: (ms: number, run: () => void) => () => void
}

let current: Surroundings | undefined

/** From here on, until the next call, this process lives in these surroundings. */
export const liveIn = (surroundings: Surroundings): void => {
  current = surroundings
}

const after = (ms: number, run: () => void): (() => void) => current?.after(ms, run) ?? (() => {})

/** Replaces them, for the rest of the life of this process. */
export const virtualise = async (): Promise<void> => {
  Math.random = () => current?.random() ?? 0
  performance.now = () => 0
  const timer = (run: () => void, ms = 0): object => ({ cancel: after(ms, run), unref: () => {} })
  const clear = (given?: { readonly cancel?: () => void }): void => given?.cancel?.()
  Object.assign(globalThis, { setTimeout: timer, clearTimeout: clear })
  const sleep = (ms = 0): Promise<void> =>
    new Promise((resolve) => {
      after(ms, resolve)
    })
  Object.assign(promised, { setTimeout: sleep })
  syncBuiltinESMExports()
  // The first one waits for the event loop; as no time passes, no other does.
  await breath()
}
