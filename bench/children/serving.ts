import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'

// A server of the store that is named, in a process of its own.

const store = await openStore(process.argv[2] ?? '')
const { url, close } = await serve({ store, port: 0 })
process.on('message', () => {
  void (async () => {
    await close()
    await store.close()
    process.disconnect()
  })()
})
process.send?.(url)
