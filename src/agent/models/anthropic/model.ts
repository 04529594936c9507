import * as E from 'fp-ts/lib/Either.js'
import type { Model, ReplyEvent } from '../model.ts'
import { type StreamResponse, streamCall } from '../streaming/call.ts'
import { failureOf } from '../streaming/failures.ts'
import { bodyOf, callBody } from './body.ts'
import { anthropicDialect } from './dialect.ts'

/** Subset of a client of `@anthropic-ai/sdk` that Palimpsest uses: `new Anthropic()`, or a client for a cloud provider. */
export interface AnthropicClient {
  readonly messages: AnthropicMessages
  readonly beta?: { readonly messages: Pick<AnthropicMessages, 'create'> }
}

/**
 * Calls of the SDK's client, typed by shape because the SDK's own types differ between `import` and `require` and between versions.
 * They are declared as methods so that the SDK's more exact body types are accepted.
 */
interface AnthropicMessages {
  create(body: object, options: { readonly signal: AbortSignal; readonly maxRetries: number }): Streaming
  countTokens(
    body: object,
    options: { readonly signal?: AbortSignal },
  ): PromiseLike<{ readonly input_tokens: number }>
}

interface Streaming {
  readonly withResponse: () => Promise<StreamResponse>
}

export interface AnthropicOptions {
  /** Names of beta features to request, such as the API's own compaction. Default: none. */
  readonly betas?: readonly string[] | undefined
}

/**
 * Returns a model that calls the API through an SDK client. Each call sends one request. The caller, not the SDK, retries it, and so
 * knows of every attempt. A reply counts only if its stream ended properly.
 */
export const anthropicModel = (
  { messages, beta }: AnthropicClient,
  { betas = [] }: AnthropicOptions = {},
): Model => {
  const begin = (body: object, signal: AbortSignal): Promise<StreamResponse> => {
    const options = { signal, maxRetries: 0 }
    return betas.length > 0 && beta
      ? beta.messages.create({ ...body, betas: [...betas] }, options).withResponse()
      : messages.create(body, options).withResponse()
  }

  return {
    ...(betas.length > 0 && beta && { betas: [...betas] }),
    call: (request, options = {}) =>
      streamCall(
        {
          // An async function, so that the exception of a client that is not configured becomes a rejection.
          begin: async (signal) => begin(callBody(request), signal),
          eventsOf: (event) => [event as ReplyEvent],
          dialect: anthropicDialect,
        },
        options,
      ),
    countTokens: async (request, { signal } = {}) => {
      try {
        const { max_tokens: _, ...body } = bodyOf(request)
        return E.right((await messages.countTokens(body, signal ? { signal } : {})).input_tokens)
      } catch (error) {
        return E.left(failureOf(error, signal, anthropicDialect))
      }
    },
  }
}
