import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'

// A server of the store that is named, and of the page in the folder that is, in a process of its own.

const [name = '', page] = process.argv.slice(2)
const store = await openStore(name)
const { url, close } = await serve({ store, port: 0, page })
process.on('message', () => {
  void (async () => {
    await close()
    await store.close()
    process.disconnect()
  })()
})
process.send?.(url)
