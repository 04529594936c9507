import { eventTraits, type TypeOfEffect } from '../events/event-traits.ts'
import { contentOf, type Event, type EventType } from '../events/events.ts'

// What can be drawn of a conversation without its content, in columns: an index makes it, or whoever has the events.

/**
 * What an event is, as one letter: `u` a user's message, `r` one with tool results, `a` the assistant's, `c` one with tool calls, `s` the
 * system's; `C` Condensed, `T` Truncated, `W` Rewound, `R` Restored, `K` Configured, `-` any other.
 */
export type EventKind =
  | MessageKind
  | (typeof eventTraits)[Exclude<EventType, TypeOfEffect<'message'>>]['letter']
export type MessageKind = 'u' | 'r' | 'a' | 'c' | 's'

/** Tells what an event is, as one letter. */
export const kindOf = (event: Event): EventKind => {
  if (event.type !== 'MessageAppended') return eventTraits[event.type].letter
  const has = (wanted: string): boolean =>
    contentOf(event).some(({ content }) => content.some(({ type }) => type === wanted))
  switch (event.data.role) {
    case 'user':
      return has('tool_result') ? 'r' : 'u'
    case 'assistant':
      return has('tool_use') ? 'c' : 'a'
    case 'system':
      return 's'
  }
}

/** A `Condensed` or `Truncated`, as its event says. */
export interface MarkerOutline {
  readonly position: number
  readonly kind: 'condensed' | 'truncated'
  /** The slice that it covers: the positions of its first and last item. */
  readonly first: number
  readonly last: number
  /** Messages that it hides, at all levels. */
  readonly hidden: number
  /** Estimated tokens of what it hides, and of what is shown in its place. */
  readonly before: number
  readonly after: number
  readonly method?: string | undefined
}

/** Events without their content, a column each: the element at index i is of position `from` + i. */
export interface OutlineColumns {
  readonly from: number
  /** The last position of the columns; `from` - 1 if there is none. */
  readonly to: number
  /** A letter each, as `EventKind` says. */
  readonly kinds: string
  /** Bytes of the event's data, as JSON. */
  readonly sizes: readonly number[]
  /** Estimated tokens of what the model sees right after the event, system prompt and tools included. */
  readonly tokens: readonly number[]
  /** Milliseconds since 1970. */
  readonly times: readonly number[]
  readonly markers: readonly MarkerOutline[]
  readonly rewinds: readonly { readonly position: number; readonly to: number }[]
  readonly restores: readonly { readonly position: number; readonly marker: number }[]
  /** Positions of the replies that have a receipt. */
  readonly calls: readonly number[]
}

/** A conversation in so many parts of about the same length, a column each. */
export interface BucketColumns {
  /** How many there are: no more than events. */
  readonly buckets: number
  /** The first position of each. */
  readonly first: readonly number[]
  /** The fewest and the most tokens that the model sees in it. */
  readonly min: readonly number[]
  readonly max: readonly number[]
  /** How many markers and rewinds it has. */
  readonly markers: readonly number[]
  readonly rewinds: readonly number[]
}
