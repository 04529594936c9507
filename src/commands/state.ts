import { contentOf, type ConversationEvent, type EventType, type Message } from '../events/events.ts'
import { type Effective, effective } from '../projections/effective.ts'
import { fold, type Slot, viewIn } from '../projections/layout.ts'
import { lastOf, type Log, path, resolve } from '../projections/path.ts'
import type { ConversationCommand } from './command.ts'

/** State needed to decide an append: the end of the conversation. */
export interface AppendState {
  readonly conversation: string
  /** Position of the last event of any type; `START` for an empty conversation. */
  readonly last: number
  /** Types of the events after the command's `after` position, oldest first; empty if the command has no `after`. */
  readonly since: readonly EventType[]
}

/** State needed to decide a rewind or an undo: the head of the conversation. */
export interface MoveState extends AppendState {
  /** Current position of the conversation, taking rewinds into account. */
  readonly head: number
  /** Type of the event at `last`; undefined for an empty conversation. */
  readonly lastType: EventType | undefined
  /** Data about the position that the command refers to. */
  readonly named: CommandTarget
}

/** State needed to decide every other command: the effective history. */
export interface ShownState extends AppendState {
  readonly effective: Effective
  /** Number of events on the path since the last event with a view. */
  readonly sinceView: number
  /** Data about the position that the command refers to. */
  readonly named: CommandTarget
}

/** State needed to decide any command. */
export type CommandState = MoveState & ShownState

/** Data about the position that a command refers to. */
export interface CommandTarget {
  /** Event before which the conversation continues, for a rewind with `before` or `turns`; for a refused restore, that of the marker. */
  readonly event?: ConversationEvent | undefined
  /** Head of the conversation after the command, for a rewind or an undo. */
  readonly head?: number
  /** Layout slots that the marker replaced, for a restore. */
  readonly replaced?: readonly Slot[] | undefined
}

/** Reports whether a message begins a user turn: it is a user message that does not consist of tool results only. */
export const isTurn = ({ role, content }: Message): boolean =>
  role === 'user' && !(content.length > 0 && content.every(({ type }) => type === 'tool_result'))

/** Reports whether an event begins a user turn. */
export const beginsTurn = (event: ConversationEvent): boolean =>
  event.type === 'MessageAppended' && contentOf(event).some(isTurn)

/**
 * Computes the state needed to decide a command, using the whole log. This is the reference for the command handler, which gathers the
 * same state piece by piece.
 */
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
  if (command.type === 'restore')
    return { event: log[command.marker], replaced: fold(log).replaced.get(command.marker) }
  if (command.type === 'undo') return { head: resolve(log, lastOf(log) - 1) }
  if (command.type !== 'rewind') return {}
  const { to, before, turns } = command
  if (to !== undefined) return { head: resolve(log, to) }
  const turnStarts = positions.flatMap((p) => (log[p] && beginsTurn(log[p]) ? [log[p]] : []))
  const event = before === undefined ? turnStarts.at(-(turns ?? 1)) : log[before]
  return event ? { event, head: resolve(log, event.position - 1) } : {}
}
