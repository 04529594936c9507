import { once } from 'node:events'
import Anthropic from '@anthropic-ai/sdk'
import type { Store, Worker } from '../src/index.ts'
import { instantClient, turnOptions } from './instant-client.ts'

/** A tool has begun, or its signal has aborted. `at`: nanoseconds of the machine's monotonic clock, which all processes share. */
export interface HeldSaid {
  readonly type: 'begun' | 'ended'
  readonly conversation: string
  readonly at: string
}

/** Nobody is taken for dead while this is measured, in milliseconds. */
const ttl = 600_000

/** A worker whose turns last until they are ended: by a tool in conversations that begin with `tool-`, else by a call of the API. */
export const heldWorker = (store: Store, api: string, say: (said: HeldSaid) => void): Worker => {
  const client = new Anthropic({ baseURL: api, apiKey: 'any' })
  const lasts =
    (conversation: string) =>
    async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const told = (type: HeldSaid['type']): void =>
        say({ type, conversation, at: String(process.hrtime.bigint()) })
      told('begun')
      if (!signal.aborted) await once(signal, 'abort')
      told('ended')
      return 'It was ended.'
    }
  return store.worker({
    slots: 8,
    ttl,
    grace: 0,
    turn: ({ id }) =>
      id.startsWith('tool-')
        ? {
            ...turnOptions,
            client: instantClient(1).client,
            run: { look: { run: lasts(id), effect: 'none' } },
          }
        : { ...turnOptions, client, system: id },
  })
}
