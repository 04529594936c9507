import { contentOf, type ConversationEvent, type EventType, type Message } from '../events/events.ts'
import { type Effective, effective } from '../projections/effective.ts'
import { fold, type Slot, viewIn } from '../projections/outline.ts'
import { lastOf, type Log, path, resolve } from '../projections/path.ts'
import type { ConversationCommand } from './command.ts'

/** Where a conversation ends: all that an append needs. */
export interface AppendState {
  readonly conversation: string
  /** The last position, whatever event it holds; `START` for an empty conversation. */
  readonly last: number
  /** The types of the events after the command's `after`, oldest first; empty without one. */
  readonly since: readonly EventType[]
}

/** Where a conversation is: all that a rewind or an undo needs. */
export interface MoveState extends AppendState {
  /** The position that the conversation is at. */
  readonly head: number
  /** The type of the last event. */
  readonly lastType: EventType | undefined
  /** What the command points at. */
  readonly named: CommandTarget
}

/** What is shown: all that any other command needs. */
export interface ShownState extends AppendState {
  readonly effective: Effective
  /** Events of the path after the last one that carries a view. */
  readonly sinceView: number
  /** What the command points at. */
  readonly named: CommandTarget
}

/** All that any command needs. */
export type CommandState = MoveState & ShownState

/** What a command points at by a position. */
export interface CommandTarget {
  /** rewind `before` and `turns`: the message to rewind before. */
  readonly event?: ConversationEvent | undefined
  /** rewind and undo: the head that the conversation would have. */
  readonly head?: number
  /** restore: what the marker replaced. */
  readonly replaced?: readonly Slot[] | undefined
}

/** The message that begins a turn of the user: one that is more than tool results. */
export const isTurn = ({ role, content }: Message): boolean =>
  role === 'user' && !(content.length > 0 && content.every(({ type }) => type === 'tool_result'))

/** Whether an event is such a message. */
export const beginsTurn = (event: ConversationEvent): boolean =>
  event.type === 'MessageAppended' && contentOf(event).some(isTurn)

/** The state that a command is decided on, from a whole log: the model for what the command handler gathers piece by piece. */
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
