import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes by which the heap may grow before garbage is collected. */
const growth = 24 * 1024 * 1024
/** How often to look, in milliseconds. */
const interval = 25

/**
 * Keeps the heap near what is alive until the work is done. The engine lets it grow to several times that, which is quicker, and
 * more than a machine may have when a file is larger than its memory.
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
