import type { Block } from './block-types.ts'
import type { Fields } from './json.ts'

// The data and metadata of events, as types. They have names, so that an editor shows these and not forty lines of fields; that they
// say what the schemas in events.ts check is itself checked by the compiler (test/types/schemas.ts).

export type Role = 'user' | 'assistant' | 'system'

/** A message: its role and content. */
export interface Message {
  readonly role: Role
  /** Content blocks, verbatim and in order; may be empty. */
  readonly content: readonly Block[]
}

/** Record of the request that a reply answers: enough to rebuild the request from the log, and to prove that it is the same. */
export interface Receipt {
  /** Last position of the conversation when the request was made from its history. */
  readonly position: number
  /** SHA-256 (hex) of the canonical JSON (RFC 8785) of system, tools and messages as sent. */
  readonly digest: string
  /** Options with which the request was made from the history. */
  readonly options: Fields
}

/** A failed attempt to condense right before a call. */
export interface CondenseFailure {
  /** Tag of its error (`_tag`). */
  readonly error: string
  /** Size of the context window, in tokens. */
  readonly window: number
}

/** Estimated tokens of a call. */
export interface EstimatedUsage {
  readonly input: number
  readonly output: number
}

/** Origin of a message: the model's own account of the call, and the record of what the model was sent. */
export interface Origin {
  readonly model?: string | undefined
  readonly stopReason?: string | null | undefined
  readonly usage?: Fields | undefined
  /** Estimate of the tokens missing from `usage`, as the endpoint reported none. */
  readonly estimated?: EstimatedUsage | undefined
  readonly requestId?: string | undefined
  readonly context?: Receipt | undefined
  /** The other fields of the API's response message (`id`, `container`, `stop_sequence`, …), omitting null ones. */
  readonly message?: unknown
  /** Failed calls before this one: the error of each, and the tokens that the API counted for it. */
  readonly failed?: unknown
  readonly condenseFailed?: CondenseFailure | undefined
  /**
   * Id of the event that begins the stream of the conversation's turns in which its writer records which of its calls were started (ADR
   * 21). Without it, or in another stream, it is unknown whether a call without a result was started.
   */
  readonly starts?: string | undefined
}

/** A slice of the effective history, given by the positions of its first and last item, both inclusive. */
export interface Covers {
  readonly first: number
  readonly last: number
}

/** The positions between two others, both exclusive. */
export interface Span {
  readonly after: number
  readonly before: number
}

/**
 * A part of the effective history: `{first, last}` stands for the messages on the path from one position through the other, `{marker}`
 * for a summary or truncation.
 */
export type Segment = Covers | { readonly marker: number }

/** The effective history right after a marker event, as a table of contents. */
export interface View {
  readonly items: readonly Segment[]
  /** Position of the `Configured` event in force. */
  readonly configured?: number | undefined
  /** Position of the first `Configured` since which system, tools and model are unchanged. */
  readonly promptSince?: number | undefined
  /** Position of the last `Configured` with tools, if the one in force has none; `START` if there is none. */
  readonly toolsFrom?: number | undefined
  /** Spans of messages that were all said while something was hidden that is shown again. */
  readonly restored?: readonly Span[] | undefined
}

/** Tokens that the API counted for content that had only been estimated. */
export interface EstimateCorrection {
  readonly model?: string | undefined
  readonly actual: number
  readonly estimated: number
}

/** Reason for which a turn wrote a marker by itself. */
export interface Policy {
  /** Kind of the excess: the `context`, in tokens, or a tool `result`, in bytes. */
  readonly of: 'context' | 'result'
  readonly used: number
  readonly allowed: number
  /** For the context: the conversation's last position when it was counted, and all settings that decided besides the history there. */
  readonly position?: number | undefined
  readonly settings?: Fields | undefined
  readonly options?: Fields | undefined
  /** Tokens said since the last attempt to condense, if there was one. */
  readonly said?: number | undefined
  /** `_tag` of the error that caused the context to be truncated rather than condensed. */
  readonly failed?: string | undefined
  /** Tokens that the API counted when it refused the context. */
  readonly learned?: EstimateCorrection | undefined
}

/** A container of the API's code execution, named by the reply at `position`. */
export interface Container {
  readonly position: number
  readonly id: string
  /** Expiry time in ISO 8601, if the API gives one. */
  readonly expires_at?: string | undefined
}

/** Estimated tokens of a slice and of its replacement. */
export interface TokenChange {
  readonly before: number
  readonly after: number
}

/** Key reserved for erasure, which will seal an event's content and keep its envelope: no event has it yet. */
interface Sealable {
  readonly sealed?: undefined
}

/** A message was said. */
export interface MessageAppendedData extends Message, Sealable {
  /** Id of the message. Default: the event's id. */
  readonly messageId?: string | undefined
  readonly origin?: Origin | undefined
}

interface MarkerData {
  readonly covers: Covers
  /** Number of messages that the marker hides, including those under markers that it covers. */
  readonly messagesHidden: number
  readonly tokens: TokenChange
  /** The newest code execution container that it hides. */
  readonly container?: Container | undefined
  readonly policy?: Policy | undefined
  readonly view?: View | undefined
}

/** A slice of the effective history is now shown as this summary. */
export interface CondensedData extends MarkerData, Sealable {
  /** Messages of the summary: at least one. */
  readonly summary: readonly Message[]
  /** Writer of the summary. */
  readonly method: 'model' | 'provider' | 'client' | 'manual'
  readonly origin?: Origin | undefined
}

/** A slice of the effective history is no longer shown. */
export interface TruncatedData extends MarkerData {
  readonly reason?: string | undefined
}

/** The content that the visible marker at that position hid is shown again in its place; later messages stay. */
export interface RestoredData {
  readonly marker: number
  readonly view?: View | undefined
}

/** The conversation is again what it was right after position `to` (`START`: empty). */
export interface RewoundData {
  readonly to: number
  readonly reason?: string | undefined
}

/** The parts of a request besides messages, from here on. It is complete: an omitted field is not set. */
export interface Configuration extends Sealable {
  readonly system?: string | readonly Block[] | undefined
  /** Tools in the API's form. */
  readonly tools?: readonly Fields[] | undefined
  readonly model?: string | undefined
  /** Other fields of a request's body. */
  readonly parameters?: Fields | undefined
}

/** The position in another conversation at which a fork begins. */
export interface ForkedFrom {
  readonly conversation: string
  readonly position: number
  /** SHA-256 (hex) of the event there. */
  readonly hash: string
}

/** First event of a fork: history begins as that conversation was right after that position. */
export interface ForkedData {
  readonly from: ForkedFrom
}

/** The data of every event type. */
export interface EventData {
  readonly MessageAppended: MessageAppendedData
  readonly Condensed: CondensedData
  readonly Truncated: TruncatedData
  readonly Restored: RestoredData
  readonly Rewound: RewoundData
  readonly Configured: Configuration
  readonly Forked: ForkedData
}
export type EventType = keyof EventData

/** The person or program that did something. */
export interface Actor {
  /** Caller-defined kind: `user`, `agent`, `import`, … */
  readonly kind: string
  /** Id within its kind. */
  readonly id?: string | undefined
}

/** Terms of a requested answer: its tenant and its priority. */
export interface AnswerTerms {
  /** Tenant to which the answer is attributed. Tenants share the workers fairly. */
  readonly tenant?: string | undefined
  /** Priority: 0 (the default) is answered before 1, 1 before 2, up to 9. */
  readonly priority?: number | undefined
}
/** A request for an answer; `true` for one without terms. */
export type AnswerFlag = true | AnswerTerms

/** The metadata of every event. */
export interface Metadata extends Sealable {
  /** Schema version in which the data were written; readers see the newest, through the upcasters. */
  readonly schema: number
  /** Time in ISO 8601, UTC, with milliseconds. */
  readonly time: string
  readonly actor: Actor
  readonly commandId: string
  readonly $correlationId?: string | undefined
  readonly $causationId?: string | undefined
  /** Makes a running turn drop the reply that the model is giving and answer what is there now. */
  readonly interrupts?: true | undefined
  /** Requests an answer to this event from a worker. */
  readonly answer?: AnswerFlag | undefined
  /** SHA-256 (hex) of the preceding event in the stream; in a `Forked`, of the parent's event; null in a first event. */
  readonly prev: string | null
}
