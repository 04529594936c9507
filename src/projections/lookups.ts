import type { EventKind } from './columns.ts'
import type { Excerpt } from './excerpts.ts'

// What is looked up of conversations: an index answers it, or a holder of the events.

/**
 * Visibility of an entry to the model: `shown`; `hidden` by `by`, which is a marker, for a marker the restore that undid it, or for a
 * system prompt the configuration that replaced it; `abandoned` by the rewind `by`.
 */
export type EntryVisibility =
  | { readonly state: 'shown' }
  | { readonly state: 'hidden' | 'abandoned'; readonly by: number }

/** A message, summary or system prompt that contains the text. */
export interface MessageHit {
  readonly conversation: string
  readonly position: number
  /** One letter, as in an outline. */
  readonly kind: EventKind
  /** Time in ISO 8601, UTC. */
  readonly time: string
  /** Excerpt at its first match. */
  readonly excerpt: Excerpt
  /** Visibility to the model now, and for the reply after it. */
  readonly now: EntryVisibility
  readonly then: EntryVisibility
}

/** A conversation whose title contains the text. */
export interface TitleHit {
  readonly conversation: string
  /** Time at which the title was noted, ISO 8601, UTC. */
  readonly time: string
  readonly excerpt: Excerpt
}

/** A page of search results. */
export interface MessageHits {
  /** On the first page: conversations whose title matches, at most `limit`, most recently noted title first. */
  readonly titles: readonly TitleHit[]
  /** Matches, newest first. */
  readonly items: readonly MessageHit[]
  /** `cursor` of the next page, if there may be more. */
  readonly next?: string
  /** An event that may match but cannot be read. */
  readonly problem?: string
}

/** The items that a marker hides, at all levels. */
export interface HiddenByMarker {
  readonly marker: number
  readonly messages: number
  /** Number of items of each kind. */
  readonly kinds: Readonly<Partial<Record<EventKind, number>>>
  /** Tools called in them and number of calls, most called first. */
  readonly tools: readonly (readonly [name: string, calls: number])[]
}
