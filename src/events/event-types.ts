import type { Block } from './block-types.ts'
import type { Fields } from './json.ts'

// The data and metadata of events, as types. They have names, so that an editor shows these and not forty lines of fields; that they
// say what the schemas in events.ts check is itself checked by the compiler (test/types/schemas.ts).

export type Role = 'user' | 'assistant' | 'system'

/** What was said. */
export interface Message {
  readonly role: Role
  /** Verbatim, in order; may be empty. */
  readonly content: readonly Block[]
}

/** What a reply was the answer to: enough to make the request again from the log, and to prove that it is the same. */
export interface Receipt {
  /** The conversation's last position when the request was made of its history. */
  readonly position: number
  /** SHA-256 (hex) of the canonical JSON (RFC 8785) of system, tools and messages as they were sent. */
  readonly digest: string
  /** How the request was made of the history. */
  readonly options: Fields
}

/** A condense that was tried right before a call and failed. */
export interface CondenseFailure {
  /** Its error (`_tag`). */
  readonly error: string
  /** The window of the context, in tokens. */
  readonly window: number
}

/** About how many tokens a call came to. */
export interface EstimatedUsage {
  readonly input: number
  readonly output: number
}

/** Where a message came from: the model's own account of the call, and what the model was sent. */
export interface Origin {
  readonly model?: string | undefined
  readonly stopReason?: string | null | undefined
  readonly usage?: Fields | undefined
  /** Of the tokens that `usage` does not tell of, as the endpoint reported none. */
  readonly estimated?: EstimatedUsage | undefined
  readonly requestId?: string | undefined
  readonly context?: Receipt | undefined
  /** The other fields of the message in which the API answered (`id`, `container`, `stop_sequence`, …), those that are null left out. */
  readonly message?: unknown
  /** The failed calls before this one: the error of each, and what the API counted for it. */
  readonly failed?: unknown
  readonly condenseFailed?: CondenseFailure | undefined
  /**
   * Its writer records which of its calls were started, in the stream of the conversation's turns that begins with the event of this id
   * (ADR 21). Without it, or in another stream, nobody knows of a call without a result whether it was started.
   */
  readonly starts?: string | undefined
}

/** A slice of the effective history, by the positions of its first and last item, both included. */
export interface Covers {
  readonly first: number
  readonly last: number
}

/** The positions between two others, both excluded. */
export interface Span {
  readonly after: number
  readonly before: number
}

/**
 * A part of the effective history: `{first, last}` stands for the messages that the path has from one position through the other,
 * `{marker}` for a summary or truncation.
 */
export type Segment = Covers | { readonly marker: number }

/** The effective history right after a marker event, as a table of contents. */
export interface View {
  readonly items: readonly Segment[]
  /** Position of the `Configured` event in force. */
  readonly configured?: number | undefined
  /** Position of the first `Configured` since which system, tools and model are the same. */
  readonly promptSince?: number | undefined
  /** Where that one has no tools: position of the last `Configured` before it that had some, `START` if there is none. */
  readonly toolsFrom?: number | undefined
  /** Spans in which every message was said while something was hidden that is shown again. */
  readonly restored?: readonly Span[] | undefined
}

/** What the API counted of what had only been estimated. */
export interface EstimateCorrection {
  readonly model?: string | undefined
  readonly actual: number
  readonly estimated: number
}

/** Why a turn wrote a marker by itself. */
export interface Policy {
  /** What was too large: the `context`, in tokens, or a tool `result`, in bytes. */
  readonly of: 'context' | 'result'
  readonly used: number
  readonly allowed: number
  /** Of the context: the conversation's last position when it was counted, and all that decided besides the history there. */
  readonly position?: number | undefined
  readonly settings?: Fields | undefined
  readonly options?: Fields | undefined
  /** Tokens said since the last attempt to condense, if there was one. */
  readonly said?: number | undefined
  /** `_tag` of the error for which the context was truncated and not condensed. */
  readonly failed?: string | undefined
  /** What the API counted as it refused the context. */
  readonly learned?: EstimateCorrection | undefined
}

/** A container of the API's code execution, as the reply at `position` names it. */
export interface Container {
  readonly position: number
  readonly id: string
  /** ISO 8601, if the API says so. */
  readonly expires_at?: string | undefined
}

/** Estimated tokens of a slice, and of what replaces it. */
export interface TokenChange {
  readonly before: number
  readonly after: number
}

/** Erasure will seal an event's content and keep its envelope: no event has this key yet. */
interface Sealable {
  readonly sealed?: undefined
}

/** A message was said. */
export interface MessageAppendedData extends Message, Sealable {
  /** Default: the event's id is the message's. */
  readonly messageId?: string | undefined
  readonly origin?: Origin | undefined
}

interface MarkerData {
  readonly covers: Covers
  /** How many messages the marker hides, those under the markers that it covers included. */
  readonly messagesHidden: number
  readonly tokens: TokenChange
  /** The newest container of code execution that it hides. */
  readonly container?: Container | undefined
  readonly policy?: Policy | undefined
  readonly view?: View | undefined
}

/** A slice of the effective history is now shown as this summary. */
export interface CondensedData extends MarkerData, Sealable {
  /** One message or more. */
  readonly summary: readonly Message[]
  /** Who wrote it. */
  readonly method: 'model' | 'provider' | 'client' | 'manual'
  readonly origin?: Origin | undefined
}

/** A slice of the effective history is no longer shown. */
export interface TruncatedData extends MarkerData {
  readonly reason?: string | undefined
}

/** What the visible marker at that position hid is shown again in its place; later messages stay. */
export interface RestoredData {
  readonly marker: number
  readonly view?: View | undefined
}

/** The conversation is again what it was right after position `to` (`START`: empty). */
export interface RewoundData {
  readonly to: number
  readonly reason?: string | undefined
}

/** What a request holds besides messages, from here on. Whole: a field left out is not set. */
export interface Configuration extends Sealable {
  readonly system?: string | readonly Block[] | undefined
  /** As the API takes them. */
  readonly tools?: readonly Fields[] | undefined
  readonly model?: string | undefined
  /** Other fields of a request's body. */
  readonly parameters?: Fields | undefined
}

/** The place in another conversation at which a fork begins. */
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

/** Who did something. */
export interface Actor {
  /** A kind of the caller's own: `user`, `agent`, `import`, … */
  readonly kind: string
  /** Which one. */
  readonly id?: string | undefined
}

/** How an answer is asked for: for whom, and how soon. */
export interface AnswerTerms {
  /** Tenants share the workers fairly. */
  readonly tenant?: string | undefined
  /** 0 (the default) is answered before 1, 1 before 2, up to 9. */
  readonly priority?: number | undefined
}
/** `true`: with nothing said about it. */
export type AnswerFlag = true | AnswerTerms

/** The metadata of every event. */
export interface Metadata extends Sealable {
  /** Schema version that the data was written in; readers see the newest, through the upcasters. */
  readonly schema: number
  /** ISO 8601, UTC, milliseconds. */
  readonly time: string
  readonly actor: Actor
  readonly commandId: string
  readonly $correlationId?: string | undefined
  readonly $causationId?: string | undefined
  /** A turn that is running drops the reply that the model is giving, and answers what is there now. */
  readonly interrupts?: true | undefined
  /** A worker is asked to answer what this event says. */
  readonly answer?: AnswerFlag | undefined
  /** SHA-256 (hex) of the event before it in the stream; in a `Forked`, of the parent's event; null in a first event. */
  readonly prev: string | null
}
