import type { Either } from 'fp-ts/lib/Either.js'
import type { Block } from '../events/blocks.ts'
import type { Configuration, Origin } from '../events/events.ts'
import type { RenderedMessage } from '../projections/render/transcript.ts'

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
}

/** The call was ended by its signal. */
export interface ModelAborted {
  readonly _tag: 'ModelAborted'
  readonly message: string
  /** What had come of the reply: completed blocks, and the beginning of a text. `origin.stopReason` is null. */
  readonly partial?: Reply
  readonly cause?: unknown
}
/** The API refused the request, or its answer broke off. Nothing of it was recorded. */
export interface ModelFailed {
  readonly _tag: 'ModelFailed'
  readonly message: string
  /** HTTP status, the API's error type, and the id to name to its support; where the API answered. */
  readonly status?: number
  readonly type?: string
  readonly requestId?: string
  readonly cause?: unknown
}
/** The request does not fit into the model's context window, says the API. */
export interface ContextExceeded extends Omit<ModelFailed, '_tag'> {
  readonly _tag: 'ContextExceeded'
}
export type ModelError = ModelAborted | ModelFailed | ContextExceeded

/** A model that can be asked. One call, one reply; what is retried inside is the implementation's own. */
export interface Model {
  readonly call: (request: ModelRequest, options?: CallOptions) => Promise<Either<ModelError, Reply>>
  /** Exact tokens of a request's input. */
  readonly countTokens: (
    request: ModelRequest,
    options?: Pick<CallOptions, 'signal'>,
  ) => Promise<Either<ModelError, number>>
}
