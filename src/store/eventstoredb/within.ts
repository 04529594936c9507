import { noAnswer } from './failures.ts'

/**
 * Runs an action for at most `ms` milliseconds. Rejects if that time is over or the given signal aborts; the signal passed to the
 * action combines both.
 */
export const within = async <A>(
  ms: number,
  signal: AbortSignal,
  action: (signal: AbortSignal) => Promise<A>,
): Promise<A> => {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(noAnswer(ms)), ms)
  const limited = AbortSignal.any([signal, late.signal])
  return untilAborted(limited, action(limited)).finally(() => clearTimeout(timer))
}

/** Returns the result of a promise; rejects with the signal's reason if the signal aborts first. */
export const untilAborted = async <A>(signal: AbortSignal, work: Promise<A>): Promise<A> => {
  work.catch(() => undefined)
  signal.throwIfAborted()
  let stop = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
  })
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', stop))
}
