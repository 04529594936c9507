/** How long those are waited for that came together with others before, in milliseconds: less than a wait for the disk. */
const patience = 1

/**
 * Resolves at once for all who wait, when nothing more arrives: a store writes what is appended at once with one wait for the disk, and
 * requests arrive one by one. As many as the last time are expected again: clients that have their answers at the same time ask again at about
 * the same time. Who is alone waits for two turns of the event loop.
 */
export const together = (now: () => number = () => performance.now()): (() => Promise<void>) => {
  let gathering: Promise<void> | undefined
  let count = 0
  let expected = 1
  const gather = (resolve: () => void, known: number, until: number): void => {
    const isDue = count >= expected ? count === known : now() >= until
    if (!isDue) {
      setImmediate(gather, resolve, count, until)
      return
    }
    expected = Math.max(count, expected - Math.ceil(expected / 4))
    count = 0
    gathering = undefined
    resolve()
  }
  return () => {
    count++
    return (gathering ??= new Promise((resolve) => {
      setImmediate(gather, resolve, 0, now() + patience)
    }))
  }
}
