/** How long the next of those is waited for that came together before, in milliseconds: less than a wait for the disk. */
const patience = 2
/** How long they are waited for in all, in milliseconds. */
const longest = 10

/**
 * Resolves at once for all who wait, when nothing more arrives: a store writes what is appended at once with one wait for the disk, and
 * requests arrive one by one. As many as the last time are expected again: clients that have their answers at the same time ask again at about
 * the same time. Who is alone waits for two turns of the event loop.
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
    // Asleep, not turn by turn: the clients may need the processor.
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
