import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Minimum growth of the heap before a collection, in bytes. */
const leastGrowth = 48 * 1024 * 1024
/** Interval between checks of the heap, in milliseconds. */
const interval = 25

/**
 * Keeps the heap within twice the size of the live objects until the work is done. By itself, the engine lets it grow to several times
 * that, which is too much for a file larger than the machine's memory. The allowed growth is proportional, as a collection takes time
 * in proportion to the live objects: with a fixed allowance, collections would be as frequent but take longer and longer.
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
