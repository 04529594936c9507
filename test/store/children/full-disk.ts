// Run in a folder on a very small disk: appends until an error, frees some room, appends once more, and prints what it saw.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../../src/index.ts'

const [folder = '.'] = process.argv.slice(2)
const ballast = join(folder, 'ballast')
writeFileSync(ballast, Buffer.alloc(400_000))
const store = await openStore(`sqlite:${join(folder, 'store.db')}`)
const chat = store.conversation('c')
let acknowledged = 0
let error: unknown
while (error === undefined && acknowledged < 1_000)
  await chat.append({ role: 'user', content: 'x'.repeat(20_000) }).then(
    () => acknowledged++,
    (reason: Error) => (error = Object.assign({}, reason, { message: reason.message })),
  )
const stored = await chat.full()
rmSync(ballast)
await chat.append({ role: 'user', content: 'there is room again' })
const verified = await chat.verify()
const later = await chat.full()
await store.close()
process.stdout.write(
  JSON.stringify({ acknowledged, error, stored: stored.length, later: later.length, verified }),
)
