import * as E from 'fp-ts/lib/Either.js'
import type { Model } from '../../../src/index.ts'

/** Calls a tool that needs an approval. */
export const wiper: Model = {
  call: async () =>
    E.right({
      content: [{ type: 'tool_use', id: 'call_1', name: 'wipe', input: {} }],
      origin: { stopReason: 'tool_use', model: 'm' },
    }),
  countTokens: async () => E.right(1),
}
