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
