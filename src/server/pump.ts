import { setTimeout as sleep } from 'node:timers/promises'

/** Takes from a source as it comes, one ahead: who reads several sources at once does not wait for any of them. */
export interface Pump<T> {
  /** The next one, if it is there. Throws what the source has thrown. */
  readonly take: () => T | undefined
}

/** @param next the next one; undefined after the last */
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

/** What an iterator gives, as the source of a pump. */
export const nextOf = <T>(iterable: AsyncIterable<T>): (() => Promise<T | undefined>) => {
  const iterator = iterable[Symbol.asyncIterator]()
  return async () => {
    const { done, value } = await iterator.next()
    return done ? undefined : value
  }
}

/** Wakes who waits for several things. */
export interface Bell {
  readonly ring: () => void
  /** Resolves when it has rung since it was heard last, to true, or after so many milliseconds. */
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
