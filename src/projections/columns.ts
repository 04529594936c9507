import { type Block, isBlock } from '../events/blocks.ts'
import { eventTraits, type TypeOfEffect } from '../events/event-traits.ts'
import { contentOf, type Event, type EventType } from '../events/events.ts'
import { hasFailedCalls } from './retries.ts'

// The data for drawing a conversation without its content, in columns. It is computed by an index, or from the events themselves.

/**
 * Kind of an event, as one letter: `u` user message, `r` user message with tool results, `a` assistant message, `c` assistant message
 * with tool calls, `s` system message; `C` Condensed, `T` Truncated, `W` Rewound, `R` Restored, `K` Configured, `E` Erased, `-` any
 * other.
 */
export type EventKind =
  | MessageKind
  | (typeof eventTraits)[Exclude<EventType, TypeOfEffect<'message'>>]['letter']
export type MessageKind = 'u' | 'r' | 'a' | 'c' | 's'

/** Returns the kind of an event, as one letter. */
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

/**
 * Reports whether an event records an error: a message with a failed tool result, a reply before which a call of the model failed, or an
 * event at which a summary could not be made.
 */
export const isFailure = (event: Event): boolean => {
  if (event.type === 'Truncated') return event.data.policy?.failed !== undefined
  if (event.type !== 'MessageAppended' && event.type !== 'Condensed') return false
  const { origin = {} } = event.data
  if (origin.condenseFailed !== undefined || hasFailedCalls(origin)) return true
  return (
    event.type === 'MessageAppended' && contentOf(event).some(({ content }) => content.some(isFailedResult))
  )
}
const isFailedResult = (block: Block): boolean => isBlock(block, 'tool_result') && block.is_error === true

/** A marker without its content, as recorded in its `Condensed` or `Truncated` event. */
export interface MarkerOutline {
  readonly position: number
  readonly kind: 'condensed' | 'truncated'
  /** Position of the first item that the marker covers; `last` is the position of its last item. */
  readonly first: number
  readonly last: number
  /** Number of messages that the marker hides, at all levels of nesting. */
  readonly hidden: number
  /** Estimated tokens of the content that the marker hides; `after` is the estimate for the content shown instead. */
  readonly before: number
  readonly after: number
  readonly method?: string | undefined
}

/** Events without their content, in columns: the element at index i belongs to position `from` + i. */
export interface OutlineColumns {
  readonly from: number
  /** Last position that the columns cover; `from` - 1 if they are empty. */
  readonly to: number
  /** Kinds of the events, one letter per event, as in `EventKind`. */
  readonly kinds: string
  /** Sizes of the events' data as JSON, in bytes. */
  readonly sizes: readonly number[]
  /** Estimated tokens of the content that the model sees right after each event, including system prompt and tools. */
  readonly tokens: readonly number[]
  /** Times of the events, in milliseconds since 1970. */
  readonly times: readonly number[]
  readonly markers: readonly MarkerOutline[]
  readonly rewinds: readonly { readonly position: number; readonly to: number }[]
  readonly restores: readonly { readonly position: number; readonly marker: number }[]
  /** Positions of the replies that have a receipt. */
  readonly calls: readonly number[]
  /** Positions of the events that record an error (`isFailure`). */
  readonly failed: readonly number[]
  /**
   * Positions of the replies that are retries: with a tool call that repeats one that failed before in the same turn (same tool, same
   * input), or after a failed call of the model.
   */
  readonly retries: readonly number[]
}

/** A conversation split into parts of about equal length, in columns. */
export interface BucketColumns {
  /** Number of parts, at most the number of events. */
  readonly buckets: number
  /** First position of each part. */
  readonly first: readonly number[]
  /** Minimum number of tokens that the model sees in each part; `max` is the maximum. */
  readonly min: readonly number[]
  readonly max: readonly number[]
  /** Number of events of each kind in each part, by the letter of the kind (`EventKind`). Kinds that never occur are left out. */
  readonly kinds: Readonly<Partial<Record<EventKind, readonly number[]>>>
  /** Number of markers in each part; `rewinds` is the number of rewinds. */
  readonly markers: readonly number[]
  readonly rewinds: readonly number[]
  /** Number of events in each part that record an error. */
  readonly failed: readonly number[]
  /** Number of replies in each part that are retries. */
  readonly retries: readonly number[]
}
