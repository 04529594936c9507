import type { LanguageModelV4 } from '@ai-sdk/provider'
import { simulateReadableStream } from 'ai'

const usage = {
  inputTokens: { total: 8, noCache: 8, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 7, text: 7, reasoning: 0 },
}
const words = 'A bracket is missing in line 60.'.split(/(?<= )/)

/** A model that streams the same reply to every question, a word each tenth of a second. */
export const slowModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'example',
  modelId: 'slow',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('this model only streams')),
  doStream: async () => ({
    stream: simulateReadableStream({
      chunkDelayInMs: 100,
      chunks: [
        { type: 'stream-start' as const, warnings: [] },
        { type: 'text-start' as const, id: 'text' },
        ...words.map((delta) => ({ type: 'text-delta' as const, id: 'text', delta })),
        { type: 'text-end' as const, id: 'text' },
        { type: 'finish' as const, finishReason: { unified: 'stop' as const, raw: 'stop' }, usage },
      ],
    }),
  }),
}
