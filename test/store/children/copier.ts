// Copies all conversations of a store to another, and prints a line whenever events have been written.
import { writeSync } from 'node:fs'
import { copyConversations } from '../../../src/index.ts'

const [from = '', to = ''] = process.argv.slice(2)
await copyConversations({ from, to, progress: (done, total) => writeSync(1, `${done} of ${total}\n`) })
