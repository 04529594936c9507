import type { StreamResponse } from '../streaming/call.ts'

/** The used part of a client of `openai`: `new OpenAI()`, `new AzureOpenAI()`, or one with the `baseURL` of any compatible endpoint. */
export interface OpenAiClient {
  readonly baseURL?: string
  readonly chat: { readonly completions: OpenAiCompletions }
  /** The same client with other options, if it is one of the SDK. */
  withOptions?(options: object): OpenAiClient
}

/** By shape, not by the SDK's own types, which differ between its versions. A method, so that its more exact types are accepted. */
interface OpenAiCompletions {
  create(
    body: object,
    options: { readonly signal: AbortSignal; readonly maxRetries: number },
  ): { readonly withResponse: () => Promise<StreamResponse> }
}
