import { openStore } from '../../../src/index.ts'
import { serve } from '../../../src/server/serve.ts'

// A server of the store that is named, which says what memory it needs when it is asked.

const store = await openStore(process.argv[2] ?? '')
const { url } = await serve({ store, port: 0 })
process.on('message', () => {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.(heapUsed + external)
})
process.send?.(url)
