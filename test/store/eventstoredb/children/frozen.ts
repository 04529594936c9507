// Follows a store and appends to it, closes it when its input ends, then has nothing left to do.
import { once } from 'node:events'
import { openStore } from '../../../../src/index.ts'

const [url = ''] = process.argv.slice(2)
const store = await openStore(url)
const following = (async () => {
  for await (const { type } of store.follow()) if (type === 'event') process.stdout.write('following ')
})()
await store.conversation('c').append({ role: 'user', content: 'x' })
await once(process.stdin.resume(), 'end')
const appending = store.conversation('c').append({ role: 'user', content: 'y' })
const reading = store.conversation('c').effective()
const outcomes = await Promise.allSettled([appending, reading, store.close(), following])
process.stdout.write(outcomes.map(({ status }) => status).join(' '))
