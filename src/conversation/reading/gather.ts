import type { Command, ConversationCommand } from '../../commands/command.ts'
import {
  beginsTurn,
  type CommandTarget,
  type ShownState,
  type MoveState,
  type AppendState,
} from '../../commands/state.ts'
import { type ConversationEvent, type Covers, type EventType, START } from '../../events/events.ts'
import type { Slot } from '../../projections/layout.ts'
import { catchTyped, unwrap, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import type { HeadState } from './ends.ts'
import { loadEffective } from './load.ts'
import type { HistoryState } from './moments.ts'
import { eventAt, pages, type Reader, resolveAt, walkBack } from './reader.ts'

/** Reads from the store the state needed to decide an append. */
export async function* gatherAppendState(
  reading: Reader,
  conversation: string,
  last: number,
  { after, tolerate }: ConversationCommand,
): Fallible<StoreError, AppendState> {
  const since: EventType[] = []
  if (after !== undefined && tolerate !== undefined)
    yield* catchTyped<StoreError, void>(async () => {
      for await (const page of pages(reading, after + 1, last)) since.push(...page.map(({ type }) => type))
    })
  return { conversation, last, since }
}

/**
 * Gathers the state needed to decide a rewind or an undo, reading only the parts that are not in `known`. The result equals `stateOf`
 * over the whole log (a property test checks this).
 */
export async function* gatherMoveState(
  reading: Reader,
  tail: AppendState,
  command: Command<'rewind' | 'undo'>,
  known: HeadState = {},
): Fallible<StoreError, MoveState> {
  const { last } = tail
  const lastType = known.lastType ?? (yield* unwrap(eventAt(reading, last)))?.type
  const head = known.head ?? (yield* unwrap(resolveAt(reading, last)))
  return { ...tail, head, lastType, named: yield* pointedAt(reading, last, command, known) }
}

/**
 * Gathers the state needed to decide any other command, without reading the whole log. The result equals `stateOf` over the whole log
 * (a property test checks this).
 *
 * @param from the position at which to load the effective history: the last position, or the head that it resolves to
 * @param momentAt as in `loadEffective`
 */
export async function* gatherShownState(
  reading: Reader,
  tail: AppendState,
  command: Exclude<ConversationCommand, Command<'rewind' | 'undo'>>,
  from = tail.last,
  momentAt?: (position: number) => HistoryState | undefined,
): Fallible<StoreError, ShownState & HistoryState> {
  const loaded = yield* loadEffective(reading, from, true, momentAt)
  const effective = { ...loaded.effective, at: tail.last }
  const state = { ...tail, ...loaded, effective }
  if (command.type !== 'restore') return { ...state, named: {} }
  const item = effective.items.find(({ position }) => position === command.marker)
  if (!item || item.kind === 'message') {
    const isThere = command.marker <= tail.last
    return { ...state, named: isThere ? { event: yield* unwrap(eventAt(reading, command.marker)) } : {} }
  }
  const replaced = loaded.replaced.get(item.position) ?? (yield* slotsUnder(reading, item))
  return { ...state, named: { replaced } }
}

async function* pointedAt(
  reading: Reader,
  last: number,
  command: Command<'rewind' | 'undo'>,
  { headBefore }: HeadState,
): Fallible<StoreError, CommandTarget> {
  const headAt = (position: number) => unwrap(resolveAt(reading, position))
  if (command.type === 'undo') return { head: headBefore ?? (yield* headAt(Math.max(START, last - 1))) }
  const { to, before, turns } = command
  if (to !== undefined) return { head: yield* headAt(Math.min(to, last)) }
  const event =
    before === undefined
      ? yield* turnStart(reading, last, turns ?? 1)
      : yield* unwrap(eventAt(reading, before))
  return event ? { head: yield* headAt(event.position - 1), event } : {}
}

/** Returns the message that began the user's n-th last turn on the path; undefined if the path has fewer turns. */
async function* turnStart(
  reading: Reader,
  last: number,
  n: number,
): Fallible<StoreError, ConversationEvent | undefined> {
  let turns = 0
  let found: ConversationEvent | undefined
  const walked = walkBack(reading, last, 0, (event) => {
    if (beginsTurn(event) && ++turns === n) found = event
    return found !== undefined
  })
  yield* unwrap(walked)
  return found
}

/** Returns the slots that a marker replaces: the slice that the marker covers, in the layout right before it. */
export async function* slotsUnder(
  reading: Reader,
  { position, covers: { first, last } }: { readonly position: number; readonly covers: Covers },
): Fallible<StoreError, readonly Slot[]> {
  const { slots } = (yield* loadEffective(reading, position - 1, false)).effective.layout
  const positions = slots.map((slot) => slot.position)
  return slots.slice(positions.indexOf(first), positions.indexOf(last) + 1)
}
