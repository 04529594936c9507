import type { ConversationEvent } from '../../../core.ts'

// What `palimpsest export --format html` puts into a page: one conversation, and what only its store knows of it.

/** The id of the element of the page that holds it, as JSON. */
export const holder = 'palimpsest-data'

export interface EmbeddedFile {
  /** Of this form: 2. Each event is in it once: the requests of calls are made again from the events that they refer to. */
  readonly form: 2
  readonly conversation: string
  /** Answers of the API that nothing here is computed from, by their paths below `/api/v1`. */
  readonly answers: Readonly<Record<string, unknown>>
  /** When it was written: ISO 8601, UTC. */
  readonly written: string
  /** The events of positions 0 through the last one, those of a fork's parents included. */
  readonly events: readonly ConversationEvent[]
  /** Estimated tokens of the context right after each event. */
  readonly tokens: readonly number[]
  /** The calls whose requests are shown, by their names; undefined if nobody asked for that. */
  readonly calls?: Readonly<Record<string, CallFacts>>
  /** How many places were made unreadable; undefined if nobody asked for that. */
  readonly redacted?: number
}

/** What of a call its events do not say. */
export interface CallFacts {
  /** What it cost, in US dollars, where the price is known. */
  readonly usd?: number
  /** Why its request is not, or cannot be shown to be, the one that its receipt is of. */
  readonly finding?: { readonly kind: string; readonly message: string }
}
