import { setTimeout as sleep } from 'node:timers/promises'

/** Reads a source one value ahead, so that a reader of several sources need not wait for each of them. */
export interface Pump<T> {
  /** Returns the next value if it is ready, otherwise undefined. Throws the error of the source. */
  readonly take: () => T | undefined
}

/**
 * Makes a pump for a source.
 *
 * @param next returns the next value; undefined after the last one
 * @param ring called when a value is ready or the source has failed
 */
export const pump = <T>(next: () => Promise<T | undefined>, ring: () => void): Pump<T> => {
  let ready: T | undefined
  let failed: { readonly error: unknown } | undefined
  const ask = (): void => {
    next()
      .then((value) => (ready = value))
      .catch((error: unknown) => (failed = { error }))
      .finally(ring)
  }
  ask()
  return {
    take: () => {
      if (failed) throw failed.error
      const value = ready
      ready = undefined
      if (value !== undefined) ask()
      return value
    },
  }
}

/** Converts an iterable to the source of a pump. */
export const nextOf = <T>(iterable: AsyncIterable<T>): (() => Promise<T | undefined>) => {
  const iterator = iterable[Symbol.asyncIterator]()
  return async () => {
    const { done, value } = await iterator.next()
    return done ? undefined : value
  }
}

/** A bell that wakes a reader of several sources. */
export interface Bell {
  readonly ring: () => void
  /** Waits for the bell. Resolves to true if the bell has rung since it was last heard, or to false after `ms` milliseconds. */
  readonly heard: (ms: number) => Promise<boolean>
}

export const bell = (): Bell => {
  let rung = Promise.withResolvers<true>()
  return {
    ring: () => rung.resolve(true),
    heard: async (ms) => {
      const silence = new AbortController()
      const silent = sleep(ms, false, { signal: silence.signal, ref: false }).catch(() => false)
      const hasRung = await Promise.race([rung.promise, silent])
      silence.abort()
      if (hasRung) rung = Promise.withResolvers()
      return hasRung
    },
  }
}
