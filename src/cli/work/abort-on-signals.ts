import { timer } from '../../result/timers.ts'

const sameSignal = 250

/**
 * Returns two controllers: `drain` aborts on the first signal (`SIGTERM` or `SIGINT`), `end` on the second. Another signal within 250
 * ms of the first is ignored, as npm repeats signals that the terminal has already sent. `forget` stops listening.
 */
export const abortOnSignals = () => {
  const [drain, end] = [new AbortController(), new AbortController()]
  let first = -Infinity
  const stop = (): void => {
    if (!drain.signal.aborted) first = performance.now()
    else if (performance.now() - first > sameSignal) end.abort()
    drain.abort()
  }
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.on(signal, stop)
  const forget = (): void => {
    for (const signal of signals) process.off(signal, stop)
  }
  return { drain, end, forget }
}

/** Milliseconds after which turns that are still in progress are worth a note: without any, a worker ends sooner. */
const noted = 500

/**
 * Returns functions that note which time turns in progress have to finish, unless all ends at once. Only the first call of `begin`
 * counts. If an error ends the command, `begin` takes its message, which the note begins with.
 */
export const createDrainNote = (stderr: { readonly write: (text: string) => unknown } | undefined) => {
  let note: NodeJS.Timeout | undefined
  const begin = (grace: number, error?: string): void => {
    const cause = error === undefined ? '' : `${error}\n`
    const text = `${cause}waiting up to ${Math.ceil(grace / 1_000)} s for turns in progress; Ctrl-C again ends them at once\n`
    note ??= timer(noted, () => stderr?.write(text))
  }
  return { begin, end: () => clearTimeout(note) }
}

/** Resolves once a signal aborts. */
export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
