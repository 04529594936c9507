import { flushCompileCache } from 'node:module'
import Anthropic from '@anthropic-ai/sdk'
import type { WorkerSpec } from '../../../support/workers/chaos/fleet.ts'

// A worker on a store, until it is killed or told to stop: `worker.ts SPEC`, a `WorkerSpec` as JSON. Prints its id.

const { url, model, effects, ttl, slots, grace, stall, prefix, hours, standby } = JSON.parse(
  process.argv[2] ?? '',
) as WorkerSpec

if (hours > 0) {
  // The wall clock is wrong, by another few minutes or hours from one moment to the next.
  const Real = Date
  let ahead = 0
  const jump = (): void => {
    ahead = (Math.random() * 2 - 1) * hours * 3_600_000
  }
  jump()
  setInterval(jump, 300).unref()
  globalThis.Date = class extends Real {
    constructor(...given: readonly unknown[]) {
      super(...((given.length > 0 ? given : [Real.now() + ahead]) as [number]))
    }
    static override now(): number {
      return Real.now() + ahead
    }
  } as DateConstructor
}

const { isPoisoned } = await import('../../../support/workers/chaos/talk.ts')
const { openStore } = await import('../../../../src/index.ts')
const store = await openStore(url)
const kinds = ['none', 'idempotent', 'unsafe'] as const
const stepsIn = new AbortController()
process.once('SIGUSR2', () => stepsIn.abort())
const worker = store.worker({
  name: 'chaos',
  slots,
  ttl,
  grace,
  ...(standby && { standby: stepsIn.signal }),
  conversations: [prefix],
  turn: ({ id: chat }) => {
    const defaultHeaders = { 'x-chat': chat, 'x-worker': worker.id, 'x-pid': String(process.pid) }
    const run = Object.fromEntries(
      kinds.map((effect) => [
        effect,
        {
          effect,
          run: async (_: unknown, { id, key }: { readonly id: string; readonly key: string }) => {
            const made = {
              chat,
              call: id,
              key,
              tool: effect,
              isUnsafe: effect === 'unsafe',
              pid: process.pid,
            }
            const response = await fetch(effects, { method: 'POST', body: JSON.stringify(made) })
            return response.text()
          },
        },
      ]),
    )
    return {
      client: new Anthropic({ baseURL: model, apiKey: 'key', defaultHeaders }),
      model: 'claude-opus-5-5',
      tools: kinds.map((name) => ({ name, input_schema: { type: 'object' } })),
      run,
      stallTimeout: isPoisoned(chat) ? stall : 600_000,
      maxRetries: 0,
    }
  },
})
// Whoever started it may be killed.
const parent = process.ppid
setInterval(() => process.ppid === parent || process.exit(), 1_000).unref()

const ends = new AbortController()
process.once('SIGTERM', () => ends.abort())
process.stdout.write(`${worker.id}\n`)
// For those that begin later: who is killed leaves nothing.
flushCompileCache()
await worker.run({ signal: ends.signal })
await store.close()
