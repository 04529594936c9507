// Appends `count` messages, each to one of the conversations, and prints a line for each as soon as it is acknowledged.
import { writeSync } from 'node:fs'
import { openStore } from '../../../src/index.ts'

const [url = '', name = '', count = '0', conversations = '1'] = process.argv.slice(2)
const store = await openStore(url)
for (let n = 0; n < Number(count); n++) {
  const id = `c${n % Number(conversations)}`
  const text = `${name}-${n}`
  const { position } = await store.conversation(id).append({ role: 'user', content: text })
  writeSync(1, `${id} ${position} ${text}\n`)
}
await store.close()
