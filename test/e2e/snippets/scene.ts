// What an example of the docs may name without declaring it, and the files that it may read. Every example runs in a process and a
// directory of its own; its models are asked at the stand-in.
import { writeFile } from 'node:fs/promises'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { setDefaultModelProvider, setTracingDisabled, Usage } from '@openai/agents-core'
import { type Model, openStore } from 'palimpsest'

export { readFile } from 'node:fs/promises'
export {
  copyConversations,
  isError,
  mcpTools,
  openStore,
  registerStore,
  resultReader,
  tool,
} from 'palimpsest'

await writeFile('parser.ts', 'let open = "')

/** A client of the API, as `new Anthropic()` is one; it says the same whatever it is asked. */
export const client: Model = {
  call: async ({ model }) => ({
    _tag: 'Right',
    right: {
      content: [{ type: 'text', text: 'It is not closed.' }],
      origin: { model, stopReason: 'end_turn' },
    },
  }),
  countTokens: async () => ({ _tag: 'Right', right: 100 }),
}

// Agents of the OpenAI Agents SDK say the same.
setTracingDisabled(true)
setDefaultModelProvider({
  getModel: () => ({
    getResponse: async () => ({
      usage: new Usage(),
      output: [
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'It is not closed.' }],
        },
      ],
    }),
    getStreamedResponse: () => {
      throw new Error('no example asks for it')
    },
  }),
})

/** A model of the AI SDK. */
export const languageModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'openai.chat',
  modelId: 'gpt-5.2',
  supportedUrls: {},
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'It is not closed.' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
    request: { body: { model: 'gpt-5.2', messages: [{ role: 'user', content: 'Why does it fail?' }] } },
  }),
  doStream: () => {
    throw new Error('no example asks for it')
  },
}

export { fileAnchor, keyFile, newKeyFile } from 'palimpsest/audit'

export const store = await openStore('sqlite:laptop.db')
/** Six messages, and at position 6 a question that waits. */
export const chat = store.conversation('task-42')
for (const line of [1, 40, 80])
  await chat.append([
    { role: 'user', content: `Why does the parser fail? Look at line ${line} of parser.ts.` },
    { role: 'assistant', content: `There is a string that begins in line ${line} and is not closed there.` },
  ])
await chat.append({ role: 'user', content: 'And in the rest of the file?' })
