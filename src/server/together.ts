/** Time to wait for another of the expected requests, in milliseconds. It is shorter than a wait for the disk. */
const patience = 2
/** Maximum total time to wait for the expected requests, in milliseconds. */
const longest = 10

/**
 * Makes a function that holds requests until no more arrive, then resolves for all callers at once. Requests arrive individually, but a
 * store writes concurrent appends with a single wait for the disk. The function expects as many requests as last time, because clients
 * that are answered together tend to send their next requests together. A single request waits for two turns of the event loop.
 */
export const together = (): (() => Promise<void>) => {
  let gathering: Promise<void> | undefined
  let release = (): void => undefined
  let count = 0
  let expected = 1
  let until = 0
  let sleep: NodeJS.Timeout | undefined

  const finish = (): void => {
    expected = Math.max(count, expected - Math.ceil(expected / 4))
    count = 0
    gathering = undefined
    release()
  }
  const look = (known: number): void => {
    if (count > known) setImmediate(look, count)
    // Sleeps instead of checking in every turn of the event loop, because the clients may need the processor.
    else if (count < expected && performance.now() < until) sleep = setTimeout(awake, patience, count)
    else finish()
  }
  const awake = (known: number): void => {
    sleep = undefined
    if (count > known) look(known)
    else finish()
  }
  const begin = (): Promise<void> =>
    new Promise((resolve) => {
      release = resolve
      until = performance.now() + longest
      setImmediate(look, 0)
    })

  return () => {
    count++
    if (sleep && count >= expected) {
      clearTimeout(sleep)
      sleep = undefined
      setImmediate(look, count)
    }
    return (gathering ??= begin())
  }
}
