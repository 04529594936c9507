// Imports a file, and says so right before it begins; or, if told so, stands still once so many events are written, and then says so. Lives until
// it is killed.
import { readFileSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from '../../../src/index.ts'

const [url = '', file = '', most = 'Infinity'] = process.argv.slice(2)
const text = readFileSync(file, 'utf8')
const store = await openStore(url)
const written = new DatabaseSync(url.slice('sqlite:'.length)).prepare('SELECT count(*) AS events FROM events')
setInterval(() => {
  if (Number(written.get()?.['events']) < Number(most)) return
  writeSync(1, 'stands still\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}, 1)
if (most === 'Infinity') writeSync(1, 'begins\n')
await store.importSession({ text, file })
