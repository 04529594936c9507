import type { EventType } from './event-types.ts'

// The traits of all event types, in one table. Once a new type has its traits here, all code that depends only on traits handles it.

/** Kind of effect that an event has on the content that the model sees. */
type EventEffect = 'message' | 'marker' | 'restore' | 'rewind' | 'configuration' | 'none'

interface EventTraits {
  readonly effect: EventEffect
  /**
   * Letter of the event type in outlines (`EventKind`). Messages have letters by role instead. Types that need not be distinguished
   * share `-`.
   */
  readonly letter?: string
  /** Name of the act that writes the event, if `undo` can take the act back. */
  readonly act?: string
}

export const eventTraits = {
  MessageAppended: { effect: 'message' },
  Rewound: { effect: 'rewind', letter: 'W', act: 'rewind' },
  Condensed: { effect: 'marker', letter: 'C', act: 'condense' },
  Truncated: { effect: 'marker', letter: 'T', act: 'truncate' },
  Restored: { effect: 'restore', letter: 'R', act: 'restore' },
  Configured: { effect: 'configuration', letter: 'K' },
  Forked: { effect: 'none', letter: '-' },
  Erased: { effect: 'none', letter: 'E' },
} as const satisfies Readonly<Record<EventType, EventTraits>>

/** The event types with one of these effects. */
export type TypeOfEffect<F extends EventEffect> = {
  readonly [T in EventType]: (typeof eventTraits)[T]['effect'] extends F ? T : never
}[EventType]

/** The event types that `undo` takes back. */
export type UndoableType = {
  readonly [T in EventType]: (typeof eventTraits)[T] extends { readonly act: string } ? T : never
}[EventType]

interface Typed {
  readonly type: EventType
}
type OfEffect<E, F extends EventEffect> = Extract<E, { readonly type: TypeOfEffect<F> }>

/** Reports whether an event is a marker: `Condensed` or `Truncated`. */
export const isMarker = <E extends Typed>(event: E): event is OfEffect<E, 'marker'> =>
  eventTraits[event.type].effect === 'marker'

/** Reports whether an event is a marker or takes one back. Such events can carry a view. */
export const isMarkerOrRestore = <E extends Typed>(event: E): event is OfEffect<E, 'marker' | 'restore'> =>
  isMarker(event) || eventTraits[event.type].effect === 'restore'

/** Reports whether an event has no effect on the content that the model sees. */
export const hasNoEffect = <E extends Typed>(event: E): event is OfEffect<E, 'none'> =>
  eventTraits[event.type].effect === 'none'

const actByType = new Map<string | undefined, string>(
  Object.entries(eventTraits).flatMap(([type, traits]) => ('act' in traits ? [[type, traits.act]] : [])),
)
/** Names of the acts that `undo` takes back. */
export const acts: readonly string[] = [...actByType.values()]

/** Reports whether `undo` takes back events of this type. */
export const canUndo = (type: string | undefined): boolean => actByType.has(type)
