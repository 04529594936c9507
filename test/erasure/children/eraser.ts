import { openStore } from '../../../src/index.ts'

// Erases everything in a conversation, and says when it begins and how it ended.

const [url = '', id = ''] = process.argv.slice(2)
const store = await openStore(url)
process.stdout.write('begun\n')
const { positions } = await store.conversation(id).erase({ by: 'ann' })
process.stdout.write(`erased ${positions.length}\n`)
await store.close()
