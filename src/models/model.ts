import type { Either } from 'fp-ts/lib/Either.js'
import type { Block } from '../events/blocks.ts'
import type { Configuration, Origin } from '../events/events.ts'
import type { RenderedMessage } from '../projections/render/renderer.ts'

/** A request to a model: what receipts are of (system, tools, messages), and what goes along. */
export interface ModelRequest {
  readonly model: string
  readonly system?: string | readonly Block[]
  readonly tools?: Configuration['tools']
  readonly messages: readonly RenderedMessage[]
  /** The other fields of the request's body, `max_tokens` among them. */
  readonly parameters: { readonly [name: string]: unknown }
}

/** What the model said, all of it: its stream has ended as it should. */
export interface Reply {
  /** Verbatim, in order. */
  readonly content: readonly Block[]
  readonly origin: Origin
}

/** A piece of a reply as it arrives: the API's stream event. */
export interface ReplyEvent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Told each event of the stream as it comes. What it throws ends the call. */
  readonly onEvent?: (event: ReplyEvent) => void
  /** Milliseconds without any sign of the reply, pings included, after which the call has stalled. */
  readonly stallTimeout?: number
}

/** A call that brought no reply, or a summary that was not recorded, as it is recorded with the next one: its error, and what the API counted it as. */
export interface FailedCall {
  /** The error's `_tag`. */
  readonly error: string
  readonly message: string
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
  readonly usage?: Origin['usage']
}

/** What every call that failed says. */
interface NoReply {
  readonly message: string
  /** What had come of the reply: completed blocks, and the beginning of a text. `origin.stopReason` is null. */
  readonly partial?: Reply | undefined
  /** Of what had come, where the stream had begun. */
  readonly usage?: Origin['usage']
  /** Every call that was made in vain, this one included, where it was made again. */
  readonly failed?: readonly FailedCall[]
  readonly cause?: unknown
}
/** What the API said, where it answered. */
interface Refusal extends NoReply {
  /** HTTP status, the API's error type, and the id to name to its support. */
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
  /** Whether the reason may pass: then the call is made again. */
  readonly retryable?: boolean
  /** Milliseconds to wait before that, where the API says so. */
  readonly retryAfter?: number
}
/** Nothing came of the reply for too long. Nothing of it was recorded. */
export interface ModelStalled extends NoReply {
  readonly _tag: 'ModelStalled'
  /** Milliseconds. */
  readonly timeout: number
  readonly retryable: true
}
/** The request does not fit into the model's context window, says the API. */
export interface ContextExceeded extends Refusal {
  readonly _tag: 'ContextExceeded'
}
export type ModelError = ModelAborted | ModelFailed | ModelStalled | ContextExceeded

/** A model that can be asked. One call is one request: what may pass is asked again by who asks (`ModelFailed.retryable`). */
export interface Model {
  /** Beta features that it asks for, by name. Receipts keep them. */
  readonly betas?: readonly string[]
  readonly call: (request: ModelRequest, options?: CallOptions) => Promise<Either<ModelError, Reply>>
  /** Exact tokens of a request's input. */
  readonly countTokens: (
    request: ModelRequest,
    options?: Pick<CallOptions, 'signal'>,
  ) => Promise<Either<ModelError, number>>
}
