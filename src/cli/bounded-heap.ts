import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Minimum growth of the heap before a collection, in bytes. */
const leastGrowth = 48 * 1024 * 1024
/** Interval between checks of the heap, in milliseconds. */
const interval = 25

/**
 * Runs the work while keeping the heap within twice the size of the live objects. By default, the engine lets the heap grow to several
 * times that size, which is too much for a file larger than the machine's memory. The allowed growth is proportional to the live
 * objects because the duration of a collection is, too: with a fixed allowance, collections would be as frequent but take longer and
 * longer.
 */
export const withBoundedHeap = async <A>(work: () => Promise<A>): Promise<A> => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = (): number => getHeapStatistics().used_heap_size
  let least = used()
  const timer = setInterval(() => {
    if (used() < least + Math.max(leastGrowth, least)) return
    collect()
    least = used()
  }, interval)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/**
 * Limits the growth of the heap, from now on, to half of the live objects between two collections, and the space of new objects to its
 * present size. For commands that read a long log: by default, most of their memory is garbage that the engine has not yet collected.
 */
export const limitHeapGrowth = (): void => {
  setFlagsFromString('--heap-growing-percent=50')
  setFlagsFromString('--semi-space-growth-factor=1')
}
