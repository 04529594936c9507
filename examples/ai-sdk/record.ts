// node examples/ai-sdk/record.ts: a program of the AI SDK whose calls are recorded, and proved, byte for byte. It needs no network.
import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, tool, wrapLanguageModel } from 'ai'
import { z } from 'zod'
import { aiSdkMiddleware } from '../../src/frameworks/ai-sdk.ts'
import { openStore } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/index.ts'

const api = await messagesApi({
  reply: (_, call) => ({
    content: [
      call === 0
        ? { type: 'tool_use', name: 'read', input: { line: 60 } }
        : { type: 'text', text: 'A bracket is missing in line 60.' },
    ],
  }),
})
const store = await openStore('memory:')
const middleware = aiSdkMiddleware(store)
const anthropic = createAnthropic({ baseURL: `${api.url}/v1`, apiKey: 'none' })
const model = wrapLanguageModel({ model: anthropic('claude-opus-5-5'), middleware })

await generateText({
  model,
  prompt: 'Why does the parser fail?',
  tools: { read: tool({ inputSchema: z.object({ line: z.int() }), execute: () => 'parse(text.split(",")' }) },
  stopWhen: isStepCount(3),
})
await middleware.settled()

for await (const { id } of store.conversations()) {
  const chat = store.conversation(id)
  for await (const call of chat.calls()) {
    const { request } = await chat.sent(call)
    process.stdout.write(`the request of the reply at ${call.position}: ${JSON.stringify(request)}\n`)
  }
  const { receipts, findings } = await chat.verifyReceipts()
  process.stdout.write(`${receipts} receipts, ${findings.length} problems\n`)
}
await store.close()
await api.close()
