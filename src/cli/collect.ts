import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes by which the heap may grow before a collection, if what is live is less. */
const leastGrowth = 48 * 1024 * 1024
/** How often to look, in milliseconds. */
const interval = 25

/**
 * Keeps the heap within twice the size of the live objects until the work is done. Left alone, the engine lets it grow to several
 * times that: too much for a file larger than the machine's memory. A collection takes time in proportion to what is live, so a heap
 * that may grow by a fixed amount only would be collected ever longer, as often.
 */
export const collecting = async <A>(work: () => Promise<A>): Promise<A> => {
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
