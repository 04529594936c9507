import type { Block } from './block-types.ts'
import type { Fields } from './json.ts'

// The data and metadata of events, as types. They have names, so that an editor shows a name and not forty lines of fields. The
// compiler checks that they match the schemas in events.ts (test/types/schemas.ts).

export type Role = 'user' | 'assistant' | 'system'

/** A message: its role and content. */
export interface Message {
  readonly role: Role
  /** Content blocks, verbatim and in order; may be empty. */
  readonly content: readonly Block[]
}

/** Record of the request that a reply answers: enough to rebuild the request from the log, and to prove that it is the same. */
export interface Receipt {
  /** Last position of the conversation when the request was built from its history. */
  readonly position: number
  /**
   * SHA-256 (hex) of the history's key and of the SHA-256 of the canonical JSON (RFC 8785) of system, tools and messages as sent; in
   * receipts of version 0.1.0, the latter alone (docs/receipts.md).
   */
  readonly digest: string
  /** Options with which the request was built from the history. */
  readonly options: Fields
}

/** A failed attempt to condense right before a call. */
export interface CondenseFailure {
  /** Tag (`_tag`) of the error. */
  readonly error: string
  /** Size of the context window, in tokens. */
  readonly window: number
}

/** Estimated tokens of a call. */
export interface EstimatedUsage {
  readonly input: number
  readonly output: number
}

/** Origin of a message: the data that the model reported about the call, and the record of the request that was sent to the model. */
export interface Origin {
  readonly model?: string | undefined
  readonly stopReason?: string | null | undefined
  readonly usage?: Fields | undefined
  /** Estimated tokens, used where the endpoint did not report them in `usage`. */
  readonly estimated?: EstimatedUsage | undefined
  readonly requestId?: string | undefined
  readonly context?: Receipt | undefined
  /** The other fields of the API's response message (`id`, `container`, `stop_sequence`, …), omitting null ones. */
  readonly message?: unknown
  /** Calls that failed before this one, each with its error and the tokens that the API counted for it. */
  readonly failed?: unknown
  readonly condenseFailed?: CondenseFailure | undefined
  /**
   * Id of the first event in the conversation's turn stream, where the writer records the calls that it starts (ADR 21). If this id is
   * absent or belongs to another stream, it is unknown whether a call without a result was started.
   */
  readonly starts?: string | undefined
}

/** A slice of the effective history, given by the positions of its first and last item, both inclusive. */
export interface Covers {
  readonly first: number
  readonly last: number
}

/** A range of positions between `after` and `before`, both exclusive. */
export interface Span {
  readonly after: number
  readonly before: number
}

/**
 * A part of the effective history: `{first, last}` stands for the messages on the path from position `first` to position `last`, both
 * inclusive; `{marker}` stands for a summary or truncation.
 */
export type Segment = Covers | { readonly marker: number }

/** The effective history right after a marker event, as a table of contents. */
export interface View {
  readonly items: readonly Segment[]
  /** Position of the current `Configured` event. */
  readonly configured?: number | undefined
  /** Position of the first `Configured` event since which system, tools and model are unchanged. */
  readonly promptSince?: number | undefined
  /**
   * Position of the last `Configured` event with tools, if the current configuration has no tools; `START` if no `Configured` event had
   * any.
   */
  readonly toolsFrom?: number | undefined
  /** Ranges of messages that were recorded while content was hidden that has since been restored. */
  readonly restored?: readonly Span[] | undefined
}

/** Correction of a token estimate: the tokens that the API counted, and the tokens that had been estimated for the same content. */
export interface EstimateCorrection {
  readonly model?: string | undefined
  readonly actual: number
  readonly estimated: number
}

/** Reason why a turn wrote a marker automatically. */
export interface Policy {
  /** Content that was too large: the `context`, measured in tokens, or a tool `result`, measured in bytes. */
  readonly of: 'context' | 'result'
  readonly used: number
  readonly allowed: number
  /**
   * For the context: the conversation's last position when the tokens were counted, and all settings that, together with the history at
   * that position, determined the decision.
   */
  readonly position?: number | undefined
  readonly settings?: Fields | undefined
  readonly options?: Fields | undefined
  /** Tokens of the messages recorded since the last attempt to condense, if there was one. */
  readonly said?: number | undefined
  /** `_tag` of the error that caused the context to be truncated rather than condensed. */
  readonly failed?: string | undefined
  /** The API's token count of the context that it refused. */
  readonly learned?: EstimateCorrection | undefined
}

/** A container of the API's code execution, named in the reply at `position`. */
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

/** A message was appended. */
export interface MessageAppendedData extends Message, Sealable {
  /** Id of the message. Default: the event's id. */
  readonly messageId?: string | undefined
  readonly origin?: Origin | undefined
}

interface MarkerData {
  readonly covers: Covers
  /** Number of messages that the marker hides, including messages hidden by markers that it covers. */
  readonly messagesHidden: number
  readonly tokens: TokenChange
  /** The newest code execution container in the content that the marker hides. */
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

/** The content hidden by the visible marker at position `marker` is shown again in its place; later messages stay. */
export interface RestoredData {
  readonly marker: number
  readonly view?: View | undefined
}

/** The conversation has returned to its state right after position `to` (`START`: empty). */
export interface RewoundData {
  readonly to: number
  readonly reason?: string | undefined
}

/** The content of requests other than messages, from here on. It is complete: an omitted field is not set. */
export interface Configuration extends Sealable {
  readonly system?: string | readonly Block[] | undefined
  /** Tool definitions in the API's format. */
  readonly tools?: readonly Fields[] | undefined
  readonly model?: string | undefined
  /** Other fields of the request body. */
  readonly parameters?: Fields | undefined
}

/** The position in another conversation at which a fork begins. */
export interface ForkedFrom {
  readonly conversation: string
  readonly position: number
  /** SHA-256 (hex) of the event at `position`. */
  readonly hash: string
}

/** First event of a fork, which begins with the other conversation's history as it was right after the given position. */
export interface ForkedData {
  readonly from: ForkedFrom
}

/** Erased events of one stream. */
export interface ErasedEvents {
  /** Ranges of positions, or of revisions of a side stream, ascending, both ends inclusive. */
  readonly ranges: readonly Covers[]
  /** SHA-256 (hex) of the hashes of what is left of these events, in order: it proves what an erased event still shows. */
  readonly forms: string
}

/** The content of these events was erased, at the time of this event. Their places, types, times, ids and hashes stay. */
export interface ErasedData {
  /** Events of the conversation. */
  readonly events?: ErasedEvents | undefined
  /** Events of the streams beside the conversation. */
  readonly notes?: ErasedEvents | undefined
  readonly turns?: ErasedEvents | undefined
  readonly inbox?: ErasedEvents | undefined
  readonly archive?: ErasedEvents | undefined
  /** The person who had the content erased. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
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
  readonly Erased: ErasedData
}
export type EventType = keyof EventData

/** The person or program that caused an event. */
export interface Actor {
  /** Caller-defined kind: `user`, `agent`, `import`, … */
  readonly kind: string
  /** Id of the actor within its kind. */
  readonly id?: string | undefined
}

/** Terms of a requested answer: its tenant and its priority. */
export interface AnswerTerms {
  /** Tenant to which the answer is attributed. Tenants share the workers fairly. */
  readonly tenant?: string | undefined
  /** Priority from 0 (the default) to 9. Lower numbers are answered first. */
  readonly priority?: number | undefined
}
/** A request for an answer: its terms, or `true` if it has no terms. */
export type AnswerFlag = true | AnswerTerms

/** State of the files that a conversation is about, by reference: a commit of a git repository. */
export interface Workspace {
  readonly kind: 'git'
  /** Hash of the commit: 7 to 64 hexadecimal digits. */
  readonly commit: string
  /** True if the files had changes that were not committed. */
  readonly dirty?: true | undefined
}

/** The metadata of every event. */
export interface Metadata extends Sealable {
  /**
   * 16 random bytes in base64url: the hash of an event that is withheld from a reader confirms no guess of its content. Absent in events
   * of version 0.1.0.
   */
  readonly salt?: string | undefined
  /** Schema version in which the data were written. Upcasters convert the data, so that readers see the newest version. */
  readonly schema: number
  /** Time of the event in ISO 8601, UTC, with milliseconds. */
  readonly time: string
  readonly actor: Actor
  readonly commandId: string
  readonly $correlationId?: string | undefined
  readonly $causationId?: string | undefined
  /** Set if a running turn must drop the reply in progress and answer the conversation including this event. */
  readonly interrupts?: true | undefined
  /** Request that a worker answer this event. */
  readonly answer?: AnswerFlag | undefined
  /** State of the files when the event was recorded, if its writer knew. It stays if the content of the event is erased. */
  readonly workspace?: Workspace | undefined
  /** SHA-256 (hex) of the preceding event in the stream; in a `Forked`, of the parent's event; null in a first event. */
  readonly prev: string | null
  /** Present if the event's content was erased: the time, and the proof of the hash that the event had (withheld.ts). */
  readonly erased?: ErasureProof | undefined
}

/** The time at which an event's content was erased, and the proof of the event's hash. */
export interface ErasureProof {
  readonly time: string
  /** SHA-256 state before the last bytes of the event's former text, length of that text, and these bytes in hex. */
  readonly stub: string
}
