import type { Either } from 'fp-ts/lib/Either.js'
import type { Block } from '../../events/blocks.ts'
import type { Configuration, Origin } from '../../events/events.ts'
import type { RenderedMessage } from '../../projections/render/renderer.ts'
import type { ChatForm } from './form.ts'

/**
 * A request to a model, valid for the Messages API: the fields that a receipt covers (system, tools, messages), and those that are sent
 * with them.
 */
export interface ModelRequest {
  readonly model: string
  readonly system?: string | readonly Block[]
  readonly tools?: Configuration['tools']
  readonly messages: readonly RenderedMessage[]
  /** The other fields of the request's body, including `max_tokens`. */
  readonly parameters: { readonly [name: string]: unknown }
}

/** A complete reply of a model: its stream ended properly. */
export interface Reply {
  /** Verbatim, in order. */
  readonly content: readonly Block[]
  readonly origin: Origin
}

/** A part of a reply as it arrives: an event of the API's stream. */
export interface ReplyEvent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /**
   * Called with each event of the reply as it arrives, in the form of the Messages API's stream: `message_start`; start, deltas and
   * stop of each block; `message_delta`; `message_stop`. If it throws, the call ends. Not called after an abort.
   */
  readonly onEvent?: (event: ReplyEvent) => void
  /** Milliseconds without any sign of the reply, including pings, after which the call counts as stalled. */
  readonly stallTimeout?: number
  /** Form of the request that the receipt covers. Default: the model's own. */
  readonly form?: ChatForm
}

/**
 * A call that brought no reply, or a summary that was not recorded, as the next reply records it: its error, and the API's token
 * counts.
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

/** Fields common to all failed calls. */
interface NoReply {
  readonly message: string
  /** The part of the reply that arrived: complete blocks, and the beginning of a text. `origin.stopReason` is null. */
  readonly partial?: Reply | undefined
  /** Usage of the part that arrived, if the stream had begun. */
  readonly usage?: Origin['usage']
  /** If the call was retried: all failed calls, including this one. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}
/** The API's answer, if it gave one. */
interface Refusal extends NoReply {
  /** HTTP status, the API's error type, and the request id for its support. */
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
}
/** The call was aborted by its signal. */
export interface ModelAborted extends NoReply {
  readonly _tag: 'ModelAborted'
}
/** The API refused the request, or the reply broke off. Nothing of the reply was recorded. */
export interface ModelFailed extends Refusal {
  readonly _tag: 'ModelFailed'
  /** True if the reason may be transient, so that the call is worth retrying. */
  readonly retryable?: boolean
  /** Milliseconds to wait before a retry, if the API says so. */
  readonly retryAfter?: number
  /** Form in which the endpoint may accept the refused request: worth another call, with its own receipt. */
  readonly form?: ChatForm
}
/** No part of the reply arrived for too long. Nothing of it was recorded. */
export interface ModelStalled extends NoReply {
  readonly _tag: 'ModelStalled'
  /** Milliseconds of silence after which the call ended. */
  readonly timeout: number
  readonly retryable: true
}
/** The request does not fit into the model's context window, according to the API. */
export interface ContextExceeded extends Refusal {
  readonly _tag: 'ContextExceeded'
}
export type ModelError = ModelAborted | ModelFailed | ModelStalled | ContextExceeded

/**
 * A model to call: through the Messages API (`anthropicModel`), through Chat Completions (`openAiModel`), or your own. Its contract is
 * in docs/models.md, and as tests in `modelContract` of `palimpsest/testing`.
 */
export interface Model {
  /** Names of the beta features it requests. Receipts keep them. */
  readonly betas?: readonly string[]
  /**
   * Form that it translates requests to, if not the Messages API's: receipts then cover requests in that form. It may change with the
   * endpoint's refusals.
   */
  readonly form?: ChatForm | undefined
  /**
   * Sends one request without retries: retrying is up to the caller (`retryable`). Right is a complete reply, Left the reason for its
   * absence; a call never throws and never changes the request.
   *
   * - `ModelFailed`: refused, or broken off; `retryable` if the reason may be transient, `retryAfter` in milliseconds;
   * - `ContextExceeded`: too long for the model; the context is then made smaller;
   * - `ModelStalled`: nothing arrived for `stallTimeout` milliseconds;
   * - `ModelAborted`: its signal aborted.
   */
  readonly call: (request: ModelRequest, options?: CallOptions) => Promise<Either<ModelError, Reply>>
  /** Returns the exact tokens of a request's input; `ModelFailed` if the API does not count. */
  readonly countTokens: (
    request: ModelRequest,
    options?: Pick<CallOptions, 'signal'>,
  ) => Promise<Either<ModelError, number>>
}
