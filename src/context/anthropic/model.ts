import type Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { abortedBy } from '../aborted.ts'
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
          tell(onEvent, event)
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

/** An error of the listener's ends the call, under its own name. */
const tell = (onEvent: CallOptions['onEvent'], event: ReplyEvent): void => {
  try {
    onEvent?.(event)
  } catch (cause) {
    throw new Error(`onEvent threw: ${String(cause)}`, { cause })
  }
}

const bodyOf = ({ parameters, ...request }: ModelRequest): Record<string, unknown> => ({
  ...parameters,
  ...request,
})

/** What the SDK's errors say, whichever version of it throws them. */
interface SdkError {
  readonly message?: string
  /** The API's own words. */
  readonly apiMessage?: string | null
  readonly status?: number
  readonly type?: string | null
  readonly requestID?: string | null
}

/** How the API says that a request is too long: in words. */
const tooLong = /prompt is too long|exceeds? (the )?context (window|limit)|context window exceeded/i
const tooManyBytes = 413

const adviceOn = (status: number | undefined): string => {
  if (status === 401 || status === 403) return 'check the API key (ANTHROPIC_API_KEY) and its rights'
  if (status === 404) return 'check the name of the model'
  if (status === 429 || (status !== undefined && status >= 500)) return 'try again later'
  return status === undefined
    ? 'check the key, the address and the connection, or try again'
    : 'mend what it names'
}

const failureOf = (error: unknown, signal: CallOptions['signal'], partial?: Reply): ModelError => {
  if (signal?.aborted) return { ...abortedBy(signal), ...(partial && { partial }) }
  const { message = 'it broke off', apiMessage, status, type, requestID } = (error ?? {}) as SdkError
  const isTooLong = status === tooManyBytes || (status === 400 && tooLong.test(message))
  const problem =
    status === undefined
      ? `there was no complete answer of the model (${message})`
      : `the API refused the request (${[status, type].filter(Boolean).join(' ')}: ${apiMessage ?? message})`
  return {
    _tag: isTooLong ? 'ContextExceeded' : 'ModelFailed',
    message: `${problem}: no reply was recorded; ${isTooLong ? 'make the context smaller' : adviceOn(status)}`,
    ...(status !== undefined && { status }),
    ...(typeof type === 'string' && { type }),
    ...(typeof requestID === 'string' && { requestId: requestID }),
    cause: error,
  }
}
