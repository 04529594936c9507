import type { ChatRequest, ChatFailure, ChatModel } from './body.ts'
import type { ChatReply } from './replies.ts'

export interface ChatCompletionsOptions {
  /**
   * Function that returns the answer to the `n`th valid request, counted from 0. Default: a reply that depends on the request and the
   * seed.
   */
  readonly reply?:
    | ((body: ChatRequest, n: number) => ChatReply | ChatFailure | Promise<ChatReply | ChatFailure>)
    | undefined
  /** The only accepted key. Default: any key is accepted. */
  readonly apiKey?: string | undefined
  /** Seed for default replies and ids. Default 0. */
  readonly seed?: number | undefined
  /** Models by name, added to the default models or replacing them. Omitted fields have the values of `gpt-5.2`. */
  readonly models?: Readonly<Record<string, Partial<ChatModel>>> | undefined
}

const newest: ChatModel = {
  contextWindow: 400_000,
  maxOutput: 128_000,
  minCached: 1_024,
  maxTokens: false,
  needsReasoning: false,
}
const defaultModels: Readonly<Record<string, Partial<ChatModel>>> = {
  'gpt-5.2': {},
  'gpt-4.1': { contextWindow: 1_047_576, maxOutput: 32_768, maxTokens: true },
  // Like a model of a compatible endpoint: replies include their reasoning, which must be sent back with tool calls.
  'compatible-reasoner': {
    contextWindow: 131_072,
    maxOutput: 65_536,
    maxTokens: true,
    reasoning: 'reasoning_content',
    needsReasoning: true,
  },
}

export const modelsOf = ({ models }: ChatCompletionsOptions): ReadonlyMap<string, ChatModel> =>
  new Map(
    Object.entries({ ...defaultModels, ...models }).map(([name, model]) => [name, { ...newest, ...model }]),
  )
