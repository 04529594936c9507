import { createRequire } from 'node:module'
import type { Anthropic } from '@anthropic-ai/sdk' with { 'resolution-mode': 'require' }
import { type AnthropicClient, openStore } from 'palimpsest'
import { expect, test } from 'vitest'
import { opus, start } from '../../support/messages-api/client.ts'

interface Required {
  readonly Anthropic: new (options: object) => Anthropic
}

test('a client that a CommonJS project requires is a client, to the compiler too', async () => {
  const { api } = await start()
  const sdk = createRequire(import.meta.url)('@anthropic-ai/sdk') as Required
  const client: AnthropicClient = new sdk.Anthropic({ baseURL: api.url, apiKey: 'key' })
  const store = await openStore('memory:')
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Hello.' })
  const { content } = await chat.turn({ client, model: opus })
  expect(content.map(({ type }) => type)).toContain('text')
  await store.close()
})
