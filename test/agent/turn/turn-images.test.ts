import Anthropic from '@anthropic-ai/sdk'
import { expect, it } from 'vitest'
import { type Conversation, openStore } from '../../../src/index.ts'
import { currentRenderer } from '../../../src/agent/receipts/request.ts'
import { messagesApi, type MessagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolUse } from '../../support/log.ts'
import { imageOf, png } from '../../support/pictures.ts'

const model = 'claude-haiku-4-5'
const large = imageOf(png(2_400, 1_800))

const scene = async (
  reply: (n: number) => object = () => text('I see.'),
): Promise<{
  readonly api: MessagesApi
  readonly chat: Conversation
  readonly turn: () => Promise<unknown>
}> => {
  const api = await messagesApi({ reply: (_, n) => ({ content: [reply(n) as ReturnType<typeof text>] }) })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  const tools = [{ name: 'shoot', input_schema: { type: 'object' } }]
  const run = { shoot: () => [imageOf(png(9_000, 20)), large] }
  return { api, chat, turn: () => chat.turn({ client, model, tools, run }) }
}

it('a conversation continues after its hundredth image, and every receipt is of what was sent', async () => {
  const { api, chat, turn } = await scene()
  for (let nth = 0; nth < 6; nth++) {
    await chat.append({ role: 'user', content: Array.from({ length: 20 }, () => imageOf(png())) })
    await turn()
  }
  await chat.append({ role: 'user', content: [text('And these?'), large] })
  await turn()
  expect(api.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200])
  expect(await chat.verifyReceipts()).toMatchObject({ receipts: 7, findings: [] })
  const replies = (await chat.effective()).filter(
    (item) => item.kind === 'message' && item.role === 'assistant',
  )
  for (const reply of replies)
    expect(reply).toMatchObject({ origin: { context: { options: { renderer: currentRenderer } } } })
})

it('an image of a tool that no model takes is recorded, and the model is told', async () => {
  const { api, chat, turn } = await scene((n) =>
    n === 0 ? { ...toolUse('a'), name: 'shoot' } : text('I see.'),
  )
  await chat.append({ role: 'user', content: 'Take a picture.' })
  await turn()
  expect(api.requests.every(({ status }) => status === 200)).toBe(true)
  const [, , result] = await chat.effective()
  expect(JSON.stringify(result)).toContain(png(9_000, 20).toString('base64'))
  expect(JSON.stringify(api.requests.at(-1)?.body)).toContain('[Not shown: image, it has 9000 × 20 pixels')
})

it('an image of a session that was imported does not stop it', async () => {
  const api = await messagesApi({ reply: () => ({ content: [text('I see.')] }) })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const messages = [
    { role: 'user', content: [text('See.'), imageOf(png(9_000, 20))] },
    { role: 'assistant', content: 'Where?' },
    { role: 'user', content: [imageOf(png(), 'image/jpeg')] },
  ]
  await store.importSession({ file: 'a.json', text: JSON.stringify(messages), id: 'c' })
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  await store.conversation('c').turn({ client, model })
  expect(api.requests.map(({ status }) => status)).toEqual([200])
})
