/** How often it is looked for more. */
const most = 8

/**
 * Resolves when nothing more arrives, at once for all who wait: a store writes what is appended at once with one wait for the disk, and
 * requests arrive one by one. Who is alone waits for two turns of the event loop.
 */
export const together = (): (() => Promise<void>) => {
  let gathering: Promise<void> | undefined
  let count = 0
  const gather = (resolve: () => void, known: number, left: number): void => {
    if (count > known && left > 0) setImmediate(gather, resolve, count, left - 1)
    else {
      gathering = undefined
      resolve()
    }
  }
  return () => {
    count++
    return (gathering ??= new Promise((resolve) => {
      setImmediate(gather, resolve, 0, most)
    }))
  }
}
