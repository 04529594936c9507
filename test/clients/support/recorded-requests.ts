import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { ApiExchange } from '../../../src/testing/index.ts'
import { opened } from '../../support/stores.ts'
import type { ClientHome } from './run-client.ts'

/** Request body without the fields that Claude Code's session file does not have: its first system block has the version only. */
const recordedPart = (body: Record<string, unknown>) => ({
  ...Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'metadata' && name !== 'stream')),
  system: (body['system'] as readonly { readonly text: string }[]).filter(
    ({ text }) => !text.startsWith('x-anthropic-billing-header'),
  ),
})

/** Reports whether a request has the text that only a request for a summary has. */
const isSummaryRequest = ({ body }: ApiExchange): boolean =>
  JSON.stringify(body?.messages.at(-1)).includes('CRITICAL: Respond with TEXT ONLY')

/**
 * Imports every session in a client's home and compares the request of each call with those that were sent. Returns the number of
 * requests in the sessions.
 */
export const expectRequestsImported = async (
  { home }: ClientHome,
  requests: readonly ApiExchange[],
): Promise<number> => {
  const folder = join(home, '.claude', 'projects')
  const store = await opened('memory:')
  const answered = requests.filter((request) => request.status === 200 && !isSummaryRequest(request))
  const sent = answered.map(({ body }) => recordedPart(body as unknown as Record<string, unknown>))
  const found = new Set<unknown>()
  const ids = new Set<string>()
  for (const name of globSync('**/*.jsonl', { cwd: folder })) {
    const text = await readFile(join(folder, name), 'utf8')
    const inFile = (pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, id]) => id))
    // A fork repeats replies without their requests.
    const refs = inFile(/"requestRef":"([^"]+)"/g).intersection(
      inFile(/"type":"api-request".*?,"id":"([^"]+)"/g),
    )
    const { conversations } = await store.importSession({ file: name, text })
    let calls = 0
    for (const { id } of conversations) {
      ids.add(id)
      const chat = store.conversation(id)
      expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
      for await (const call of chat.calls()) {
        calls++
        const made = await chat.sent(call)
        expect(made.isSame).toBe(true)
        const same = sent.find((one) => isDeepStrictEqual(one, made.body))
        expect(same, `call ${call.number} of ${id}`).toBeDefined()
        found.add(same)
      }
    }
    expect({ name, calls }).toEqual({ name, calls: refs.size })
  }
  // Every request was found in a session, too.
  expect(found.size).toBe(sent.length)
  return found.size
}
