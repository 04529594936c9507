// Run in a folder on a very small disk: fills the disk while no process has the store open, and prints what opening it and its diagnosis say.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diagnose } from '../../../src/api/schemes.ts'
import { openStore } from '../../../src/index.ts'

const [folder = '.'] = process.argv.slice(2)
const url = `sqlite:${join(folder, 'store.db')}`
const store = await openStore(url)
await store.conversation('c').append({ role: 'user', content: 'x' })
await store.close()
try {
  writeFileSync(join(folder, 'ballast'), Buffer.alloc(2 ** 20))
} catch {
  // The disk is full.
}
const opened = await openStore(url).then(
  (again) => again.conversation('c').full(),
  (error: Error) => Object.assign({}, error, { message: error.message }),
)
process.stdout.write(JSON.stringify({ opened, diagnosed: await diagnose(url)() }))
