import { contentOf, type ConversationEvent, type EventType, type Message } from '../events/events.ts'
import { type Effective, effective } from '../projections/effective.ts'
import { fold, type Slot, viewIn } from '../projections/outline.ts'
import { lastOf, type Log, path, resolve } from '../projections/path.ts'
import type { ConversationCommand } from './command.ts'

/** End of a conversation: the state that an append needs. */
export interface AppendState {
  readonly conversation: string
  /** The last position, of any event; `START` for an empty conversation. */
  readonly last: number
  /** Types of the events after the command's `after`, oldest first; empty if `after` is not given. */
  readonly since: readonly EventType[]
}

/** Head of a conversation: the state that a rewind or an undo needs. */
export interface MoveState extends AppendState {
  /** Position of the head. */
  readonly head: number
  /** Type of the last event. */
  readonly lastType: EventType | undefined
  /** Data that the command's position refers to. */
  readonly named: CommandTarget
}

/** Content shown: the state that any other command needs. */
export interface ShownState extends AppendState {
  readonly effective: Effective
  /** Number of events on the path after the last one that carries a view. */
  readonly sinceView: number
  /** Data that the command's position refers to. */
  readonly named: CommandTarget
}

/** State that any command needs. */
export type CommandState = MoveState & ShownState

/** Data that the position in a command refers to. */
export interface CommandTarget {
  /** Message to rewind before, for a rewind with `before` or `turns`. */
  readonly event?: ConversationEvent | undefined
  /** Resulting head of the conversation, for rewind and undo. */
  readonly head?: number
  /** Slots that the marker replaced, for restore. */
  readonly replaced?: readonly Slot[] | undefined
}

/** Reports whether a message begins a turn of the user: it is more than tool results. */
export const isTurn = ({ role, content }: Message): boolean =>
  role === 'user' && !(content.length > 0 && content.every(({ type }) => type === 'tool_result'))

/** Reports whether an event begins a turn of the user. */
export const beginsTurn = (event: ConversationEvent): boolean =>
  event.type === 'MessageAppended' && contentOf(event).some(isTurn)

/** Returns the state on which a command is decided, from a whole log: the model for what the command handler gathers piece by piece. */
export const stateOf = (conversation: string, log: Log, command: ConversationCommand): CommandState => {
  const last = lastOf(log)
  const positions = path(log)
  const shown = effective(log)
  return {
    conversation,
    last,
    since: command.after === undefined ? [] : log.slice(command.after + 1).map(({ type }) => type),
    effective: shown,
    head: shown.head,
    sinceView: positions.length - 1 - positions.findLastIndex((position) => hasView(log[position])),
    lastType: log[last]?.type,
    named: named(log, command, positions),
  }
}

const hasView = (event: ConversationEvent | undefined): boolean =>
  event !== undefined && viewIn(event) !== undefined

const named = (log: Log, command: ConversationCommand, positions: readonly number[]): CommandTarget => {
  if (command.type === 'restore') return { replaced: fold(log).replaced.get(command.marker) }
  if (command.type === 'undo') return { head: resolve(log, lastOf(log) - 1) }
  if (command.type !== 'rewind') return {}
  const { to, before, turns } = command
  if (to !== undefined) return { head: resolve(log, to) }
  const turnStarts = positions.flatMap((p) => (log[p] && beginsTurn(log[p]) ? [log[p]] : []))
  const event = before === undefined ? turnStarts.at(-(turns ?? 1)) : log[before]
  return event ? { event, head: resolve(log, event.position - 1) } : {}
}
