import type { EventKind } from './columns.ts'
import type { Excerpt } from './excerpts.ts'

// Results of lookups in conversations. They are computed by an index, or from the events themselves.

/**
 * Visibility of an entry to the model. `shown`; `hidden` by the event at `by`: a marker, the restore that undid a marker, or the
 * configuration that replaced a system prompt; `abandoned` by the rewind at `by`.
 */
export type EntryVisibility =
  | { readonly state: 'shown' }
  | { readonly state: 'hidden' | 'abandoned'; readonly by: number }

/** A message, summary or system prompt that contains the searched text. */
export interface MessageHit {
  readonly conversation: string
  readonly position: number
  /** Kind of the entry as one letter, as in an outline. */
  readonly kind: EventKind
  /** Time of the event in ISO 8601, UTC. */
  readonly time: string
  /** Excerpt around the first match. */
  readonly excerpt: Excerpt
  /** Visibility to the model now; `then` is the visibility for the reply after the entry. */
  readonly now: EntryVisibility
  readonly then: EntryVisibility
}

/** A conversation whose title contains the searched text. */
export interface TitleHit {
  readonly conversation: string
  /** Time at which the title was recorded: ISO 8601, UTC. */
  readonly time: string
  readonly excerpt: Excerpt
}

/** A page of search results. */
export interface MessageHits {
  /** Conversations whose title matches, on the first page only: at most `limit`, the most recently recorded title first. */
  readonly titles: readonly TitleHit[]
  /** Matching entries, newest first. */
  readonly items: readonly MessageHit[]
  /** `cursor` of the next page, if there may be another page. */
  readonly next?: string
  /** Description of an event that may match but cannot be read, or of conversations that are not indexed because of such events. */
  readonly problem?: string
}

/** Numbers of items that a marker hides, at all levels of nesting. */
export interface HiddenByMarker {
  readonly marker: number
  readonly messages: number
  /** Number of hidden items of each kind. */
  readonly kinds: Readonly<Partial<Record<EventKind, number>>>
  /** Tools called in the hidden items, with the number of calls, most called first. */
  readonly tools: readonly (readonly [name: string, calls: number])[]
}
