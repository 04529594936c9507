import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes by which the heap may grow before a collection. */
const growth = 24 * 1024 * 1024
/** How often to look, in milliseconds. */
const interval = 25

/**
 * Keeps the heap close to the size of the live objects until the work is done. Left alone, the engine lets it grow to several times
 * that: faster, but too much for a file larger than the machine's memory.
 */
export const collecting = async <A>(work: () => Promise<A>): Promise<A> => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = (): number => getHeapStatistics().used_heap_size
  let least = used()
  const timer = setInterval(() => {
    if (used() < least + growth) return
    collect()
    least = used()
  }, interval)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
