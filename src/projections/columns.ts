import { eventTraits, type TypeOfEffect } from '../events/event-traits.ts'
import { contentOf, type Event, type EventType } from '../events/events.ts'

// What can be drawn of a conversation without its content, in columns: an index makes it, or a holder of the events.

/**
 * Kind of an event, as one letter: `u` a user's message, `r` one with tool results, `a` the assistant's, `c` one with tool calls, `s` the
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

/** A `Condensed` or `Truncated`, as recorded in its event. */
export interface MarkerOutline {
  readonly position: number
  readonly kind: 'condensed' | 'truncated'
  /** The slice that it covers: positions of its first and last item. */
  readonly first: number
  readonly last: number
  /** Number of messages that it hides, at all levels. */
  readonly hidden: number
  /** Estimated tokens of the content that it hides, and of the content shown instead. */
  readonly before: number
  readonly after: number
  readonly method?: string | undefined
}

/** Events without their content, in columns: the element at index i belongs to position `from` + i. */
export interface OutlineColumns {
  readonly from: number
  /** Last position of the columns; `from` - 1 if they are empty. */
  readonly to: number
  /** One letter per event, as in `EventKind`. */
  readonly kinds: string
  /** Size of the event's data as JSON, in bytes. */
  readonly sizes: readonly number[]
  /** Estimated tokens of what the model sees right after the event, including system prompt and tools. */
  readonly tokens: readonly number[]
  /** Milliseconds since 1970. */
  readonly times: readonly number[]
  readonly markers: readonly MarkerOutline[]
  readonly rewinds: readonly { readonly position: number; readonly to: number }[]
  readonly restores: readonly { readonly position: number; readonly marker: number }[]
  /** Positions of replies with a receipt. */
  readonly calls: readonly number[]
}

/** A conversation split into parts of about equal length, in columns. */
export interface BucketColumns {
  /** Number of parts: no more than events. */
  readonly buckets: number
  /** First position of each part. */
  readonly first: readonly number[]
  /** Minimum and maximum of the tokens that the model sees in each part. */
  readonly min: readonly number[]
  readonly max: readonly number[]
  /** Number of markers and of rewinds in each part. */
  readonly markers: readonly number[]
  readonly rewinds: readonly number[]
}
