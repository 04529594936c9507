// Keeps a reply that begins and does not end, until it is killed: `chat-writer.ts URL CHAT`.
import { writeSync } from 'node:fs'
import { chatStore } from '../../../src/frameworks/ai-sdk.ts'
import { openStore } from '../../../src/index.ts'

const [url = '', id = ''] = process.argv.slice(2)
const store = await openStore(url)
const chats = chatStore(store, { silence: 600 })
await chats.save(id, [{ id: 'q', role: 'user', parts: [{ type: 'text', text: 'Why?' }] }])
const kept = chats.keepStream(
  id,
  new ReadableStream({
    start: (controller) => {
      controller.enqueue('data: {"type":"start","messageId":"a"}\n\n')
      controller.enqueue('data: {"type":"text-start","id":"1"}\n\n')
      controller.enqueue('data: {"type":"text-delta","id":"1","delta":"Because"}\n\n')
    },
  }),
)
writeSync(1, 'begun\n')
setInterval(() => undefined, 60_000)
await kept
