import type { StreamResponse } from '../streaming/call.ts'

/**
 * Subset of a client of `openai` that Palimpsest uses: `new OpenAI()`, `new AzureOpenAI()`, or a client with the `baseURL` of any
 * compatible endpoint.
 */
export interface OpenAiClient {
  readonly baseURL?: string
  readonly chat: { readonly completions: OpenAiCompletions }
  /** Returns a copy of the client with other options. Only the SDK's own clients have this method. */
  withOptions?(options: object): OpenAiClient
}

/**
 * Calls of the SDK's client, typed by shape because the SDK's own types differ between versions. `create` is declared as a method so
 * that the SDK's more exact types are accepted.
 */
interface OpenAiCompletions {
  create(
    body: object,
    options: { readonly signal: AbortSignal; readonly maxRetries: number },
  ): { readonly withResponse: () => Promise<StreamResponse> }
}
