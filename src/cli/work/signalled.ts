const sameSignal = 250

/** Aborts on the first signal, and on the second: npm passes on what the terminal has sent already, so one that follows at once is the same. */
export const signalled = () => {
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
