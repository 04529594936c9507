// Appends a message whose content goes outside, and is killed when the content is there and the event is not.
import * as E from 'fp-ts/lib/Either.js'
import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { storeOn } from '../../../src/api/open.ts'

const [url = '', content = ''] = process.argv.slice(2)
const events = await openSqlite(url)()
if (E.isLeft(events)) throw new Error(events.left.message)
const append = (): never => {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('it goes on')
}
const store = storeOn({ ...events.right, append }, { kind: 'test' })
await store.conversation('c').append({ role: 'user', content })()
