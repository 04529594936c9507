import type { ConversationEvent, EventType } from '../events/events.ts'
import type { Effective } from '../projections/effective.ts'
import type { Slot } from '../projections/outline.ts'

/** Where a conversation ends: all that an append has to know. */
export interface Tail {
  readonly conversation: string
  /** The last position, whatever event it holds; `START` if there is none. */
  readonly last: number
  /** The types of the events behind the command's `after`, oldest first; empty without an `after`. */
  readonly since: readonly EventType[]
}

/** What a command is decided on. */
export interface State extends Tail {
  readonly effective: Effective
  /** Events of the path after the last one that carries a view. */
  readonly sinceView: number
  /** The last event. */
  readonly lastEvent: ConversationEvent | undefined
  /** What the command points at. */
  readonly named: Named
}

/** What a command points at by a position. */
export interface Named {
  /** rewind `before` and `turns`: the message to rewind before. */
  readonly event?: ConversationEvent | undefined
  /** rewind and undo: the head that the conversation would come to stand at. */
  readonly head?: number
  /** restore: what the marker replaced. */
  readonly replaced?: readonly Slot[] | undefined
}
