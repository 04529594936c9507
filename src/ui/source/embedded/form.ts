import type { ConversationEvent, ConversationFacts } from '../../../core.ts'

// Data that `palimpsest export --format html` embeds in a page: one conversation, and facts about it that only its store has.

/** Id of the HTML element that contains the embedded file as JSON. */
export const holder = 'palimpsest-data'

export interface EmbeddedFile {
  /** Version of the file format. Each event is stored once: the requests of calls are rebuilt from the events that they refer to. */
  readonly form: 2
  readonly conversation: string
  /** API responses that cannot be computed from the events, by path below `/api/v1`. */
  readonly answers: Readonly<Record<string, unknown>>
  /** Time of the export, in ISO 8601 (UTC). */
  readonly written: string
  /** Events from position 0 to the last one, including those that a fork inherits. */
  readonly events: readonly ConversationEvent[]
  /** Estimated context tokens right after each event, in the order of `events`. */
  readonly tokens: readonly number[]
  /** Facts about the conversation, as in the list; absent in files of earlier versions. */
  readonly facts?: ConversationFacts
  /** Model calls whose requests are included, by name; undefined if the export does not include requests. */
  readonly calls?: Readonly<Record<string, CallFacts>>
  /** Number of redacted places; undefined if nothing was redacted. */
  readonly redacted?: number
}

/** Data about a model call that its events do not contain. */
export interface CallFacts {
  /** Cost in US dollars; undefined if the price is unknown. */
  readonly usd?: number
  /** Reason why the request differs from the one in its receipt, or cannot be compared with it. */
  readonly finding?: { readonly kind: string; readonly message: string }
}
