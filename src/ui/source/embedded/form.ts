import type { ConversationEvent } from '../../../core.ts'

// What `palimpsest export --format html` puts into a page: one conversation, and what only its store knows of it.

/** Id of the element that holds the file, as JSON. */
export const holder = 'palimpsest-data'

export interface EmbeddedFile {
  /** Version of this form. Each event is included once: the requests of calls are rebuilt from the events that they refer to. */
  readonly form: 2
  readonly conversation: string
  /** API responses that cannot be computed from the events, by their paths below `/api/v1`. */
  readonly answers: Readonly<Record<string, unknown>>
  /** Time of the export: ISO 8601, UTC. */
  readonly written: string
  /** Events from position 0 through the last one, including those of a fork's parents. */
  readonly events: readonly ConversationEvent[]
  /** Estimated tokens of the context right after each event. */
  readonly tokens: readonly number[]
  /** Calls whose requests are shown, by name; undefined unless requested. */
  readonly calls?: Readonly<Record<string, CallFacts>>
  /** Number of redacted places; undefined if nothing was redacted. */
  readonly redacted?: number
}

/** Facts about a call that its events do not contain. */
export interface CallFacts {
  /** Cost in US dollars, if the price is known. */
  readonly usd?: number
  /** Reason why its request differs from the one in its receipt, or cannot be compared. */
  readonly finding?: { readonly kind: string; readonly message: string }
}
