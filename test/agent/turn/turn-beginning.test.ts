import Anthropic from '@anthropic-ai/sdk'
import { expect, it } from 'vitest'
import { type Conversation, openStore } from '../../../src/index.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'

const model = 'claude-opus-5-5'

it.each<readonly [string, (chat: Conversation) => Promise<unknown>]>([
  ['only a configuration', (chat) => chat.configure({ model, parameters: { max_tokens: 100 } })],
  ['only blank texts', (chat) => chat.append([{ role: 'user', content: ' ' }])],
  [
    'only what no request may hold',
    (chat) => chat.append([{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }]),
  ],
  [
    'only what is truncated',
    async (chat) => {
      await chat.append({ role: 'user', content: 'Fix it. '.repeat(2_000) })
      await chat.truncate({ covers: { first: 0, last: 0 } })
    },
  ],
  [
    'a reply as the last word, too long as it is',
    async (chat) => {
      await chat.configure({ model, parameters: { max_tokens: 100 } })
      for (let n = 0; n < 8; n++)
        await chat.append([
          { role: 'user', content: 'Fix it. '.repeat(200) },
          { role: 'assistant', content: [text('Done. '.repeat(200))] },
        ])
    },
  ],
])('a turn with %s is refused before anything is sent or written', async (_, prepare) => {
  const api = await messagesApi()
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await prepare(chat)
  const before = await chat.position()
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const turned = chat.turn({ client, model, parameters: { max_tokens: 100 }, context: { window: 2_000 } })
  await expect(turned).rejects.toMatchObject({ _tag: 'NothingToAnswer' })
  expect([api.requests, await chat.position()]).toEqual([[], before])
})

it('the tokens of a conversation in which nothing is said are not asked of the API', async () => {
  const api = await messagesApi()
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await chat.configure({ model, system: 'Be brief.' })
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const count = await chat.tokens({ client })
  expect([count.exact, count.total > 0, api.requests]).toEqual([undefined, true, []])
})
