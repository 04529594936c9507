// Copies all conversations of a store to another, and prints a line whenever events have been written. Stands still where it prints `most` lines.
import { writeSync } from 'node:fs'
import { copyConversations } from '../../../src/index.ts'

const [from = '', to = '', most = '0'] = process.argv.slice(2)
let lines = 0
const progress = (done: number, total: number): void => {
  writeSync(1, `${done} of ${total}\n`)
  if (++lines === Number(most)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
await copyConversations({ from, to, progress })
