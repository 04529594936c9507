// A worker on a store whose turns last until they are ended, until it is told to stop: `held.ts URL API`. In conversations that begin with
// `tool-` a tool lasts, of which it tells its parent when it begins and when its signal aborts; in the others a call of that API.
import { openStore } from '../../src/index.ts'
import { heldWorker, type HeldSaid } from '../held-worker.ts'

const [url = '', api = ''] = process.argv.slice(2)
const store = await openStore(url)
const ends = new AbortController()
process.on('disconnect', () => ends.abort())
process.on('message', () => ends.abort())
const running = heldWorker(store, api, (said: HeldSaid) => void process.send?.(said)).run({
  signal: ends.signal,
})
process.send?.({ type: 'started' })
await running
await store.close()
process.exit()
