import type Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import type { CallOptions, Model, ModelError, ModelRequest, Reply, ReplyEvent } from '../model.ts'
import { replyDraft } from './reply.ts'

/** What is used of a client of `@anthropic-ai/sdk`: `new Anthropic()`, or one of a cloud provider. */
export interface AnthropicClient {
  readonly messages: Pick<Anthropic['messages'], 'create' | 'countTokens'>
  readonly beta?: { readonly messages: Pick<Anthropic['beta']['messages'], 'create' | 'countTokens'> }
}

export interface AnthropicOptions {
  /** Beta features to ask for, by name, such as the API's own compaction. Default none. */
  readonly betas?: readonly string[]
}

type Params = Anthropic.MessageCreateParamsStreaming
type BetaParams = Anthropic.Beta.MessageCreateParamsStreaming

/**
 * A model behind a client of the SDK, which retries what it can retry (`maxRetries`, 2 by default) and keeps to its own time limits.
 * A reply counts only when its stream has ended as it should.
 */
export const anthropicModel = (
  { messages, beta }: AnthropicClient,
  { betas = [] }: AnthropicOptions = {},
): Model => {
  const begin = (params: unknown, signal: AbortSignal | undefined) => {
    const options = signal ? { signal } : {}
    return betas.length > 0 && beta
      ? beta.messages.create({ ...(params as BetaParams), betas: [...betas] }, options).withResponse()
      : messages.create(params as Params, options).withResponse()
  }

  return {
    call: async (request, { signal, onEvent } = {}) => {
      let draft = replyDraft()
      try {
        const { data, request_id: requestId } = await begin({ ...bodyOf(request), stream: true }, signal)
        draft = replyDraft(requestId)
        for await (const event of data as AsyncIterable<ReplyEvent>) {
          draft.add(event)
          onEvent?.(event)
        }
      } catch (error) {
        return E.left(failureOf(error, signal, draft.partial()))
      }
      // A stream that is aborted, or whose connection is closed properly half way, ends like one that is complete.
      const reply = draft.whole()
      return reply ? E.right(reply) : E.left(failureOf(undefined, signal, draft.partial()))
    },
    countTokens: async (request, { signal } = {}) => {
      try {
        const { max_tokens: _, ...body } = bodyOf(request)
        const params = body as unknown as Anthropic.MessageCountTokensParams
        return E.right((await messages.countTokens(params, signal ? { signal } : {})).input_tokens)
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

/** What the SDK's errors say, whichever version of it throws them. */
interface SdkError {
  readonly message?: string
  readonly status?: number
  readonly type?: string | null
  readonly requestID?: string | null
}

/** How the API says that a request is too long: in words. */
const tooLong = /prompt is too long|exceeds? (the )?context (window|limit)|context window exceeded/i
const tooManyBytes = 413

const failureOf = (
  error: unknown,
  signal: CallOptions['signal'],
  partial?: Reply,
): Extract<ModelError, { readonly _tag: string }> => {
  if (signal?.aborted)
    return {
      _tag: 'ModelAborted',
      message: 'the call was aborted: nothing of it was recorded',
      ...(partial && { partial }),
      cause: signal.reason,
    }
  const { message = 'the answer broke off', status, type, requestID } = (error ?? {}) as SdkError
  const isTooLong = status === tooManyBytes || (status === 400 && tooLong.test(message))
  return {
    _tag: isTooLong ? 'ContextExceeded' : 'ModelFailed',
    message: `the model's API did not answer (${message}): nothing was recorded; try again, or mend what it names`,
    ...(status !== undefined && { status }),
    ...(typeof type === 'string' && { type }),
    ...(typeof requestID === 'string' && { requestId: requestID }),
    cause: error,
  }
}
