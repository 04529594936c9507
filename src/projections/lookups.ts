import type { EventKind } from './columns.ts'
import type { Excerpt } from './found.ts'

// What is looked up of conversations: an index answers it, or whoever has the events.

/**
 * Whether the model sees an entry: `shown`; `hidden` by the marker `by`, for a marker by the restore that took it back, for a system prompt
 * by the configuration that replaced it; `abandoned` by the rewind `by`.
 */
export type EntryVisibility =
  | { readonly state: 'shown' }
  | { readonly state: 'hidden' | 'abandoned'; readonly by: number }

/** A message, summary or system prompt that has the text. */
export interface MessageHit {
  readonly conversation: string
  readonly position: number
  /** A letter, as in an outline. */
  readonly kind: EventKind
  /** ISO 8601, UTC. */
  readonly time: string
  /** Of the first place in it. */
  readonly excerpt: Excerpt
  /** Whether the model sees it now, and whether it did for the reply after it. */
  readonly now: EntryVisibility
  readonly then: EntryVisibility
}

/** A conversation whose title has the text. */
export interface TitleHit {
  readonly conversation: string
  /** When the title was noted, ISO 8601, UTC. */
  readonly time: string
  readonly excerpt: Excerpt
}

/** A page of what a search finds. */
export interface MessageHits {
  /** On the first page: the conversations whose title has it, at most `limit`, the title noted last first. */
  readonly titles: readonly TitleHit[]
  /** The newest first. */
  readonly items: readonly MessageHit[]
  /** There may be more: the `cursor` of the next page. */
  readonly next?: string
  /** An event that has it, perhaps, but cannot be read. */
  readonly problem?: string
}

/** What a marker hides at all levels. */
export interface HiddenByMarker {
  readonly marker: number
  readonly messages: number
  /** How many items there are of each kind. */
  readonly kinds: Readonly<Partial<Record<EventKind, number>>>
  /** The tools that are called in it and how often, the most called first. */
  readonly tools: readonly (readonly [name: string, calls: number])[]
}
