// npm run sample: plays the sample and writes it to examples/sessions/receipts.jsonl, the same bytes each time.
import { writeFile } from 'node:fs/promises'
import { openStore } from '../../src/index.ts'
import { fixed } from './fixed.ts'
import { explorer, fork, main, play } from './scene.ts'

const store = await openStore('memory:')
await play(store)
const lines = await fixed(store, [main, explorer, fork])
await writeFile(new URL('../sessions/receipts.jsonl', import.meta.url), lines.join(''))
await store.close()
