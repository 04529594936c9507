// Reads a conversation of the store named, whole, and makes JSON of its events. Prints their bytes and the peak of the resident memory
// in MiB.
import { openStore } from '../../src/index.ts'

const [, , url = '', id = ''] = process.argv
const store = await openStore(url)
let bytes = 0
for await (const event of store.conversation(id).events()) bytes += JSON.stringify(event).length
await store.close()
process.stdout.write(JSON.stringify({ bytes, peak: process.resourceUsage().maxRSS / 1_024 }))
