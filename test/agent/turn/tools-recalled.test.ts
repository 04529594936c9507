import { expect, it } from 'vitest'
import { anthropicRequest } from '../../../src/transfer/formats/write-anthropic.ts'
import { text, toolResult, toolUse } from '../../support/log.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import { scene } from '../../support/turn-scene.ts'

const tools = [{ name: 'run', input_schema: { type: 'object' } }]

it('tools that are recalled for calls reach the API, the count, the receipt and what the audit shows', async () => {
  const { api, client, chat, turn } = await scene([{ content: [text('Done.')] }])
  await chat.configure({ tools, parameters: { tool_choice: { type: 'any' } } })
  await chat.append([
    { role: 'assistant', content: [toolUse('a')] },
    { role: 'user', content: [toolResult('a')] },
    { role: 'assistant', content: 'It ran.' },
    { role: 'user', content: 'And?' },
  ])
  await turn({ tools: [] })
  await chat.append({ role: 'user', content: 'Thanks.' })
  const count = await chat.tokens({ client })
  const [sent, counted] = api.requests.map(
    ({ body }) => body as ApiRequest & { readonly tool_choice?: unknown },
  )
  for (const body of [sent, counted]) {
    expect(body?.tools?.map(({ name }) => name)).toEqual(['run'])
    expect(body?.tool_choice).toEqual({ type: 'none' })
  }
  expect([count.exact !== undefined, api.requests.map(({ status }) => status)]).toEqual([true, [200, 200]])
  expect(await chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [] })
  const { request, isSame } = await chat.sent(1)
  expect(isSame).toBe(true)
  expect([request.tools, request.parameters['tool_choice']]).toMatchObject([tools, { type: 'none' }])
  expect(anthropicRequest(await chat.context())).toMatchObject({ tools, tool_choice: { type: 'none' } })
})

it('tools that are recalled are counted as a part of the prompt', async () => {
  const { chat } = await scene([])
  const count = async (): Promise<number> => (await chat.tokens()).prompt
  await chat.configure({ model: 'claude-opus-5-5', tools })
  await chat.append({ role: 'assistant', content: [toolUse('a')] })
  const before = await count()
  await chat.configure({ tools: null })
  expect([before > 0, await count()]).toEqual([true, before])
})
