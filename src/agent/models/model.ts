import type { Either } from 'fp-ts/lib/Either.js'
import type { Block } from '../../events/blocks.ts'
import type { Configuration, Origin } from '../../events/events.ts'
import type { RenderedMessage } from '../../projections/render/renderer.ts'
import type { ChatForm } from './form.ts'

/**
 * Request to a model, valid for the Messages API: the fields that a receipt covers (system, tools, messages), and the fields sent with
 * them.
 */
export interface ModelRequest {
  readonly model: string
  readonly system?: string | readonly Block[]
  readonly tools?: Configuration['tools']
  readonly messages: readonly RenderedMessage[]
  /** Other fields of the request's body, including `max_tokens`. */
  readonly parameters: { readonly [name: string]: unknown }
}

/** Complete reply of a model, whose stream ended properly. */
export interface Reply {
  /** Content blocks of the reply, verbatim and in order. */
  readonly content: readonly Block[]
  readonly origin: Origin
}

/** Event of the API's stream, which carries a part of a reply. */
export interface ReplyEvent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /**
   * Called with each event of the reply as it arrives, in the form of the Messages API's stream: `message_start`; start, deltas and
   * stop of each block; `message_delta`; `message_stop`. If the listener throws, the call ends. The listener is not called after an
   * abort.
   */
  readonly onEvent?: (event: ReplyEvent) => void
  /** Milliseconds after which a call that receives no data, not even a ping, counts as stalled. */
  readonly stallTimeout?: number
  /** Form in which to send the request; the receipt covers the request in this form. Default: the model's own form. */
  readonly form?: ChatForm
}

/**
 * Record of a model call without a usable result: the call returned no reply, or a summary that was not recorded. The next reply stores
 * the record, with the error and the API's token counts.
 */
export interface FailedCall {
  /** The error's `_tag`. */
  readonly error: string
  readonly message: string
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
  readonly usage?: Origin['usage']
  /** Model that was called. */
  readonly model?: string
}

/** Fields that all errors of model calls share. */
interface NoReply {
  readonly message: string
  /** The part of the reply that arrived: complete blocks, and the beginning of a text. `origin.stopReason` is null. */
  readonly partial?: Reply | undefined
  /** Usage of the part that arrived, if the stream had begun. */
  readonly usage?: Origin['usage']
  /** All failed calls, including this one, if the call was retried. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}
/** Error with details of the API's answer, if the API gave one. */
interface Refusal extends NoReply {
  /** HTTP status. `type` is the API's error type; `requestId` identifies the request to the API's support. */
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
}
/** Error: the call was aborted by its signal. */
export interface ModelAborted extends NoReply {
  readonly _tag: 'ModelAborted'
}
/** Error: the API refused the request, or the reply broke off. Nothing of the reply was recorded. */
export interface ModelFailed extends Refusal {
  readonly _tag: 'ModelFailed'
  /** True if the cause may be transient, so that the call is worth retrying. */
  readonly retryable?: boolean
  /** Milliseconds to wait before a retry, if the API says so. */
  readonly retryAfter?: number
  /** Form in which the endpoint may accept the request that it refused. It is worth calling again in this form, with a separate receipt. */
  readonly form?: ChatForm
}
/** Error: no part of the reply arrived for too long. Nothing of the reply was recorded. */
export interface ModelStalled extends NoReply {
  readonly _tag: 'ModelStalled'
  /** Milliseconds without data after which the call ended. */
  readonly timeout: number
  readonly retryable: true
}
/** Error: according to the API, the request does not fit into the model's context window. */
export interface ContextExceeded extends Refusal {
  readonly _tag: 'ContextExceeded'
}
export type ModelError = ModelAborted | ModelFailed | ModelStalled | ContextExceeded

/**
 * Model to call: through the Messages API (`anthropicModel`), through Chat Completions (`openAiModel`), or through your own
 * implementation. The contract is described in docs/models.md and tested by `modelContract` of `palimpsest/testing`.
 */
export interface Model {
  /** Names of the beta features that the model requests. Receipts record them. */
  readonly betas?: readonly string[]
  /**
   * Form into which the model translates requests, if not the Messages API's; receipts then cover the translated requests. The form may
   * change after the endpoint refuses a request.
   */
  readonly form?: ChatForm | undefined
  /**
   * Sends one request without retries; the caller may retry if the error is `retryable`. Returns a complete reply as Right, or the
   * error as Left. Never throws and never changes the request.
   *
   * - `ModelFailed`: refused, or broken off; `retryable` if the reason may be transient, `retryAfter` in milliseconds;
   * - `ContextExceeded`: too long for the model; the context is then made smaller;
   * - `ModelStalled`: nothing arrived for `stallTimeout` milliseconds;
   * - `ModelAborted`: the signal aborted.
   */
  readonly call: (request: ModelRequest, options?: CallOptions) => Promise<Either<ModelError, Reply>>
  /** Returns the exact number of input tokens of a request; `ModelFailed` if the API does not count tokens. */
  readonly countTokens: (
    request: ModelRequest,
    options?: Pick<CallOptions, 'signal'>,
  ) => Promise<Either<ModelError, number>>
}
