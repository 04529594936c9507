import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'

// A server of the store that is named, and of the page in the folder that is, in a process of its own, which says what memory it needs when it is asked.

const [name = '', page] = process.argv.slice(2)
const store = await openStore(name)
const { url, close } = await serve({ store, port: 0, page })
process.on('message', (asked) => {
  if (asked === 'memory') {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    process.send?.(heapUsed + external)
    return
  }
  void (async () => {
    await close()
    await store.close()
    process.disconnect()
  })()
})
process.send?.(url)
