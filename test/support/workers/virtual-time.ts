import { getEventListeners } from 'node:events'
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

/** Signals that end with others, since when this process has lived in its surroundings. */
let dependent: AbortSignal[] = []

/** Node keeps such signals for as long as somebody listens: a process that was killed would never be freed. */
const forget = (signal: AbortSignal): void => {
  for (const listener of getEventListeners(signal, 'abort'))
    signal.removeEventListener('abort', listener as () => void)
}

/** From here on, until the next call, this process lives in these surroundings; what lived in those before is forgotten. */
export const liveIn = (surroundings: Surroundings): void => {
  current = surroundings
  for (const signal of dependent) forget(signal)
  dependent = []
}

const after = (ms: number, run: () => void): (() => void) => current?.after(ms, run) ?? (() => {})

/** Replaces them, for the rest of the life of this process. */
export const virtualise = async (): Promise<void> => {
  Math.random = () => current?.random() ?? 0
  performance.now = () => 0
  // Nothing recorded is then in the past: how long real time lasts decides nothing.
  Date.now = () => 0
  const timer = (run: () => void, ms = 0): object => ({ cancel: after(ms, run), unref: () => {} })
  const clear = (given?: { readonly cancel?: () => void }): void => given?.cancel?.()
  Object.assign(globalThis, { setTimeout: timer, clearTimeout: clear })
  const sleep = (ms = 0): Promise<void> =>
    new Promise((resolve) => {
      after(ms, resolve)
    })
  Object.assign(promised, { setTimeout: sleep })
  syncBuiltinESMExports()
  const any = AbortSignal.any.bind(AbortSignal)
  AbortSignal.any = (signals) => {
    const signal = any(signals)
    dependent.push(signal)
    return signal
  }
  // The first one waits for the event loop; as no time passes, no other does.
  await breath()
}
