import type { Either } from 'fp-ts/lib/Either.js'
import type { Block } from '../../events/blocks.ts'
import type { Configuration, Origin } from '../../events/events.ts'
import type { RenderedMessage } from '../../projections/render/renderer.ts'
import type { ChatForm } from './form.ts'

/** A request to a model, valid for the Messages API: what a receipt covers (system, tools, messages), and what is sent with it. */
export interface ModelRequest {
  readonly model: string
  readonly system?: string | readonly Block[]
  readonly tools?: Configuration['tools']
  readonly messages: readonly RenderedMessage[]
  /** The other fields of the request's body, `max_tokens` among them. */
  readonly parameters: { readonly [name: string]: unknown }
}

/** A complete reply of a model: its stream has ended properly. */
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
   * Called with each event of the reply as it comes, in the form of the Messages API's stream: `message_start`, for each block its start,
   * deltas and stop, `message_delta`, `message_stop`. If it throws, the call ends. Not called after an abort.
   */
  readonly onEvent?: (event: ReplyEvent) => void
  /** Milliseconds without any sign of the reply, pings included, after which the call has stalled. */
  readonly stallTimeout?: number
  /** The form that the receipt of the request is of. Default: the model's own. */
  readonly form?: ChatForm
}

/** A call that brought no reply, or a summary that was not recorded, as the next reply records it: its error, and the API's token counts. */
export interface FailedCall {
  /** The error's `_tag`. */
  readonly error: string
  readonly message: string
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
  readonly usage?: Origin['usage']
  /** The model that was asked. */
  readonly model?: string
}

/** What every failed call says. */
interface NoReply {
  readonly message: string
  /** What had arrived of the reply: completed blocks, and the beginning of a text. `origin.stopReason` is null. */
  readonly partial?: Reply | undefined
  /** Of what had arrived, if the stream had begun. */
  readonly usage?: Origin['usage']
  /** If the call was repeated: every failed call, this one included. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}
/** What the API said, if it answered. */
interface Refusal extends NoReply {
  /** HTTP status, the API's error type, and the request's id for its support. */
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
}
/** The call was ended by its signal. */
export interface ModelAborted extends NoReply {
  readonly _tag: 'ModelAborted'
}
/** The API refused the request, or its answer broke off. Nothing of it was recorded. */
export interface ModelFailed extends Refusal {
  readonly _tag: 'ModelFailed'
  /** Whether the reason may pass, so that the call is worth repeating. */
  readonly retryable?: boolean
  /** Milliseconds to wait before that, if the API says so. */
  readonly retryAfter?: number
  /** The form in which the endpoint may take the request that it has refused: it is worth another call, with a receipt of its own. */
  readonly form?: ChatForm
}
/** Nothing of the reply arrived for too long. Nothing of it was recorded. */
export interface ModelStalled extends NoReply {
  readonly _tag: 'ModelStalled'
  /** Milliseconds. */
  readonly timeout: number
  readonly retryable: true
}
/** The API says that the request does not fit into the model's context window. */
export interface ContextExceeded extends Refusal {
  readonly _tag: 'ContextExceeded'
}
export type ModelError = ModelAborted | ModelFailed | ModelStalled | ContextExceeded

/**
 * A model to call: of the Messages API (`anthropicModel`), of Chat Completions (`openAiModel`), or your own. What it has to do is in
 * docs/models.md, and as tests in `modelContract` of `palimpsest/testing`.
 */
export interface Model {
  /** Beta features that it requests, by name. Receipts keep them. */
  readonly betas?: readonly string[]
  /**
   * The form that it translates requests to, if it is not that of the Messages API: receipts are then of requests in that form. It may
   * change with what the endpoint refuses.
   */
  readonly form?: ChatForm | undefined
  /**
   * Sends one request, and repeats nothing: that is up to the caller (`retryable`). Right is a whole reply, left why there is none; a call
   * does not throw, and leaves the request as it is.
   *
   * - `ModelFailed`: refused, or broken off; `retryable` if the reason may pass, `retryAfter` in milliseconds;
   * - `ContextExceeded`: too long for the model; the context is made smaller;
   * - `ModelStalled`: nothing arrived for `stallTimeout` milliseconds;
   * - `ModelAborted`: its signal aborted.
   */
  readonly call: (request: ModelRequest, options?: CallOptions) => Promise<Either<ModelError, Reply>>
  /** Exact tokens of a request's input; `ModelFailed` if the API does not count. */
  readonly countTokens: (
    request: ModelRequest,
    options?: Pick<CallOptions, 'signal'>,
  ) => Promise<Either<ModelError, number>>
}
