// Appends, follows and closes a store, then has nothing left to do.
import { openStore } from '../../../../src/index.ts'

const [url = ''] = process.argv.slice(2)
const store = await openStore(url)
const until = async (enough: (type: string) => boolean): Promise<void> => {
  for await (const { type } of store.follow()) if (enough(type)) return
}
const open = until(() => false)
const followed = until((type) => type === 'event')
await store.conversation('c').append({ role: 'user', content: 'x' })
await followed
await store.close()
await open
process.stdout.write('closed')
