import { openStore } from '../../../src/index.ts'
import { serve } from '../../../src/server/serve.ts'

// A server of the store that is named, with a page for exports, which says what memory it needs when it is asked.

const [name = '', pageFile] = process.argv.slice(2)
const store = await openStore(name)
const { url } = await serve({
  store,
  port: 0,
  ...(pageFile !== undefined && { pageFile: new URL(pageFile) }),
})
process.on('message', () => {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.(heapUsed + external)
})
process.send?.(url)
