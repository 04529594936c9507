import { isLeft } from 'fp-ts/lib/Either.js'
import { openPostgres } from '../../../../src/store/postgres/store.ts'
import { event } from '../../../../src/testing/contract/support.ts'

// Appends to its own stream, and prints the id of each event that was acknowledged: `writer.ts URL STREAM`.

const [, , url = '', stream = ''] = process.argv
const store = await openPostgres(url)()
if (isLeft(store)) throw new Error(store.left.message)
for (let n = 0; ; n++) {
  const one = event('x'.repeat((n * 997) % 5_000))
  const appended = await store.right.append({ stream, events: [one], expected: n - 1 })()
  if (isLeft(appended)) throw new Error(appended.left.message)
  process.stdout.write(`${one.id}\n`)
}
