import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { isRight } from 'fp-ts/lib/Either.js'

// Holds a name until it is killed, or until it is told to release it by its input: `holder.ts URL NAME`. Says whether it holds it.

const [, , url = '', name = ''] = process.argv
const store = await openSqlite(url)()
const release = isRight(store) ? await store.right.liveness?.hold(name) : undefined
process.once('SIGTERM', async () => {
  await release?.()
  process.exit()
})
setInterval(() => {}, 1_000)
process.stdout.write(release ? 'held\n' : 'refused\n')
