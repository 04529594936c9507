import Anthropic from '@anthropic-ai/sdk'
import { openStore } from '../../../src/index.ts'

// A worker on a store, until it is killed or told to stop: `worker.ts URL API TTL`. Prints its id.

const [, , url = '', baseURL = '', ttl = ''] = process.argv
const store = await openStore(url)
const client = new Anthropic({ baseURL, apiKey: 'key' })
const worker = store.worker({
  slots: 4,
  ttl: Number(ttl),
  turn: () => ({
    client,
    model: 'claude-opus-5-5',
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    run: { look: { run: () => 'It is there.', effect: 'idempotent' } },
  }),
})
const ends = new AbortController()
process.once('SIGTERM', () => ends.abort())
process.stdout.write(`${worker.id}\n`)
await worker.run({ signal: ends.signal })
await store.close()
