import type { ConversationEvent } from '../../../core.ts'

// What `palimpsest export --format html` puts into a page: one conversation, and what only its store knows of it.

/** The id of the element of the page that holds it, as JSON. */
export const holder = 'palimpsest-data'

export interface EmbeddedFile {
  /** Of this form: 1. */
  readonly form: 1
  readonly conversation: string
  /** The events of positions 0 through the last one, those of a fork's parents included. */
  readonly events: readonly ConversationEvent[]
  /** Estimated tokens of the context right after each event. */
  readonly tokens: readonly number[]
  /** Answers of the API that nothing here is computed from, by their paths below `/api/v1`. */
  readonly answers: Readonly<Record<string, unknown>>
  /** When it was written: ISO 8601, UTC. */
  readonly written: string
  /** How many places were made unreadable; undefined if nobody asked for that. */
  readonly redacted?: number
}
