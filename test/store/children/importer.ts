// Imports a file; says so right before it begins.
import { readFileSync, writeSync } from 'node:fs'
import { openStore } from '../../../src/index.ts'

const [url = '', file = ''] = process.argv.slice(2)
const text = readFileSync(file, 'utf8')
const store = await openStore(url)
writeSync(1, 'begins\n')
await store.importSession({ text, file })
await store.close()
