import * as E from 'fp-ts/lib/Either.js'
import { orAborted } from '../aborted.ts'
import { errorText } from '../error-text.ts'
import type { Model, ModelError, ModelRequest, ReplyEvent } from '../model.ts'
import { type Broken, failureOf, spoiltBy, stalledAfter } from './failures.ts'
import { replyDraft } from './reply.ts'
import { hear, watch } from './watch.ts'

/** The used part of a client of `@anthropic-ai/sdk`: `new Anthropic()`, or one for a cloud provider. */
export interface AnthropicClient {
  readonly messages: AnthropicMessages
  readonly beta?: { readonly messages: Pick<AnthropicMessages, 'create'> }
}

/**
 * By shape, not by the SDK's own types: those differ between `import` and `require`, and between its versions. Methods, so that the SDK's
 * more exact types of a body are accepted.
 */
interface AnthropicMessages {
  create(body: object, options: { readonly signal: AbortSignal; readonly maxRetries: number }): Streaming
  countTokens(
    body: object,
    options: { readonly signal?: AbortSignal },
  ): PromiseLike<{ readonly input_tokens: number }>
}

interface Streaming {
  readonly withResponse: () => Promise<{
    readonly data: AsyncIterable<object>
    readonly response: Response
    readonly request_id?: string | null | undefined
  }>
}

export interface AnthropicOptions {
  /** Beta features to request, by name, such as the API's own compaction. Default none. */
  readonly betas?: readonly string[]
}

const defaultStallTimeout = 60_000

/**
 * A model reached through a client of the SDK. A call is one request, which the SDK does not retry: the caller does, and so knows of every
 * one. A reply counts only if its stream has ended properly.
 */
export const anthropicModel = (
  { messages, beta }: AnthropicClient,
  { betas = [] }: AnthropicOptions = {},
): Model => {
  const begin = (body: object, signal: AbortSignal): ReturnType<Streaming['withResponse']> => {
    const options = { signal, maxRetries: 0 }
    return betas.length > 0 && beta
      ? beta.messages.create({ ...body, betas: [...betas] }, options).withResponse()
      : messages.create(body, options).withResponse()
  }

  return {
    ...(betas.length > 0 && beta && { betas: [...betas] }),
    call: async (request, { signal, onEvent, stallTimeout = defaultStallTimeout } = {}) => {
      const watched = watch(signal, stallTimeout)
      let draft = replyDraft()
      /** What the listener or the reading of an event threw: not a fault of the API. */
      let spoilt: { readonly error: unknown } | undefined
      const take = (event: ReplyEvent): void => {
        try {
          draft.add(event)
        } catch (error) {
          spoilt = { error }
          throw error
        }
        try {
          onEvent?.(event)
        } catch (cause) {
          spoilt = { error: new Error(`onEvent threw: ${errorText(cause)}`, { cause }) }
          throw cause
        }
      }
      const read = async (): Promise<void> => {
        const begun = await begin({ ...bodyOf(request), stream: true }, watched.signal)
        hear(begun.response, watched.alive)
        draft = replyDraft(begun.request_id)
        for await (const event of begun.data as AsyncIterable<ReplyEvent>) {
          if (watched.signal.aborted) return
          watched.alive()
          take(event)
        }
      }
      const failed = (error: unknown): ModelError => {
        const broken: Broken = { partial: draft.partial(), usage: draft.usage() }
        if (spoilt) return spoiltBy(spoilt.error, broken)
        return watched.isStalled() ? stalledAfter(stallTimeout, broken) : failureOf(error, signal, broken)
      }
      try {
        await orAborted(read(), watched.signal)
        // If the connection is closed properly half way, the stream ends like a complete one.
        const reply = draft.whole()
        return reply ? E.right(reply) : E.left(failed(undefined))
      } catch (error) {
        return E.left(failed(error))
      } finally {
        watched.end()
      }
    },
    countTokens: async (request, { signal } = {}) => {
      try {
        const { max_tokens: _, ...body } = bodyOf(request)
        return E.right((await messages.countTokens(body, signal ? { signal } : {})).input_tokens)
      } catch (error) {
        return E.left(failureOf(error, signal))
      }
    },
  }
}

const bodyOf = ({ parameters, ...request }: ModelRequest): Record<string, unknown> => ({
  ...parameters,
  ...request,
})
