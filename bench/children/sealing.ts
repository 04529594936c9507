// Seals the store of the first argument, with the key file of the second, until it is told to end.
import { openStore } from '../../src/index.ts'
import { keyFile } from '../../src/audit.ts'

const [url = '', key = ''] = process.argv.slice(2)
const store = await openStore(url)
const ending = new AbortController()
process.on('SIGTERM', () => ending.abort())
process.send?.('ready')
await store.audit.follow({ signer: await keyFile(key), signal: ending.signal })
await store.close()
process.disconnect()
