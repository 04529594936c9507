// A worker on a store, with a model that answers after so many milliseconds, until it is told to stop: `worker.ts URL SLOTS TTL MS TELLS`.
// Tells its parent its id, of each call of the model that begins (unless TELLS is false), how many steps have ended, and how much memory it takes if asked.
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import type { WorkerSaid } from '../worker-processes.ts'

const [url = '', slots, ttl, ms, tells] = process.argv.slice(2)
const say = (said: WorkerSaid): void => void process.send?.(said)
const store = await openStore(url)
const ends = new AbortController()
let ended = 0

const worker = store.worker({
  slots: Number(slots),
  ttl: Number(ttl),
  grace: 1_000,
  turn: ({ id }) => {
    const called = () => {
      if (tells === 'true') say({ type: 'call', conversation: id, at: String(process.hrtime.bigint()) })
      return Number(ms) > 0 ? sleep(Number(ms), undefined, { signal: ends.signal }) : undefined
    }
    return { ...turnOptions, client: instantClient(0, 1, called).client }
  },
  onStep: () => {
    // Once for all that end in the same turn of the event loop.
    if (ended++ === 0)
      setImmediate(() => {
        say({ type: 'ended', steps: ended })
        ended = 0
      })
  },
})
process.on('disconnect', () => ends.abort())
process.on('message', (asked) => {
  if (asked === 'stop') return ends.abort()
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  say({ type: 'memory', resident: rss / 2 ** 20, heap: heapUsed / 2 ** 20 })
})
say({ type: 'started', worker: worker.id })
await worker.run({ signal: ends.signal })
await store.close()
process.exit()
