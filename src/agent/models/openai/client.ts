import type { StreamResponse } from '../streaming/call.ts'

/**
 * The part that we use of a client of `openai`: `new OpenAI()`, `new AzureOpenAI()`, or a client with the `baseURL` of any compatible
 * endpoint.
 */
export interface OpenAiClient {
  readonly baseURL?: string
  readonly chat: { readonly completions: OpenAiCompletions }
  /** Returns the same client with other options, if the client is the SDK's. */
  withOptions?(options: object): OpenAiClient
}

/**
 * Typed by shape, not by the SDK's own types, which differ between its versions. A method, so that the SDK's more exact types are
 * accepted.
 */
interface OpenAiCompletions {
  create(
    body: object,
    options: { readonly signal: AbortSignal; readonly maxRetries: number },
  ): { readonly withResponse: () => Promise<StreamResponse> }
}
