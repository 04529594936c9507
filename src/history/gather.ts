import * as E from 'fp-ts/lib/Either.js'
import type { Command, ConversationCommand } from '../commands/command.ts'
import {
  beginsTurn,
  type Named,
  type ShownState,
  type MoveState,
  type AppendState,
} from '../commands/state.ts'
import { type ConversationEvent, type Covers, type EventType, START } from '../events/events.ts'
import type { Slot } from '../projections/outline.ts'
import type { StoreError } from '../store/errors.ts'
import type { Place } from './known.ts'
import { type Loaded, loadEffective } from './load.ts'
import type { Moment } from './moments.ts'
import { eventAt, pages, type Reader, resolveAt, walkBack } from './reader.ts'

/** What an append is decided on, read from a store. */
export const gatherAppendState = async (
  reading: Reader,
  conversation: string,
  last: number,
  { after, tolerate }: ConversationCommand,
): Promise<E.Either<StoreError, AppendState>> => {
  const since: EventType[] = []
  try {
    if (after !== undefined && tolerate !== undefined)
      for await (const page of pages(reading, after + 1, last)) since.push(...page.map(({ type }) => type))
  } catch (error) {
    return E.left(error as StoreError)
  }
  return E.right({ conversation, last, since })
}

/** What a rewind or an undo is decided on: what is not known is read. Equal to `stateOf` the whole log (a property test). */
export const gatherMoveState = async (
  reading: Reader,
  tail: AppendState,
  command: Command<'rewind' | 'undo'>,
  known: Place = {},
): Promise<E.Either<StoreError, MoveState>> => {
  const { last } = tail
  const lastType = known.lastType === undefined ? await typeAt(reading, last) : E.right(known.lastType)
  if (E.isLeft(lastType)) return lastType
  const head = known.head === undefined ? await resolveAt(reading, last) : E.right(known.head)
  if (E.isLeft(head)) return head
  const named = await pointedAt(reading, last, command, known)
  return E.map((found: Named) => ({ ...tail, head: head.right, lastType: lastType.right, named: found }))(
    named,
  )
}

const typeAt = async (
  reading: Reader,
  position: number,
): Promise<E.Either<StoreError, EventType | undefined>> =>
  E.map((event: ConversationEvent | undefined) => event?.type)(await eventAt(reading, position)())

/**
 * What every other command is decided on, read piece by piece. Equal to `stateOf` the whole log (a property test).
 *
 * @param from the position to load what is shown from: the last one, or where it leads to
 * @param momentAt as in `loadEffective`
 */
export const gatherShownState = async (
  reading: Reader,
  tail: AppendState,
  command: Exclude<ConversationCommand, Command<'rewind' | 'undo'>>,
  from = tail.last,
  momentAt?: (position: number) => Moment | undefined,
): Promise<E.Either<StoreError, ShownState & Moment>> => {
  const loaded = await loadEffective(reading, from, true, momentAt)
  if (E.isLeft(loaded)) return loaded
  const { replaced } = loaded.right
  const effective = { ...loaded.right.effective, at: tail.last }
  const state = { ...tail, ...loaded.right, effective }
  if (command.type !== 'restore') return E.right({ ...state, named: {} })
  const item = effective.items.find(({ position }) => position === command.marker)
  if (!item || item.kind === 'message') return E.right({ ...state, named: {} })
  const known = replaced.get(item.position)
  const slots = known ? E.right(known) : await slotsUnder(reading, item)
  return E.map((found: readonly Slot[]) => ({ ...state, named: { replaced: found } }))(slots)
}

const pointedAt = async (
  reading: Reader,
  last: number,
  command: Command<'rewind' | 'undo'>,
  { headBefore }: Place,
): Promise<E.Either<StoreError, Named>> => {
  if (command.type === 'undo')
    return headBefore === undefined
      ? headAt(reading, Math.max(START, last - 1))
      : E.right({ head: headBefore })
  const { to, before, turns } = command
  if (to !== undefined) return headAt(reading, Math.min(to, last))
  const event =
    before === undefined ? await turnStart(reading, last, turns ?? 1) : await eventAt(reading, before)()
  if (E.isLeft(event)) return event
  if (!event.right) return E.right({})
  const head = await headAt(reading, event.right.position - 1)
  return E.map((found: Named) => ({ ...found, event: event.right }))(head)
}

const headAt = async (reading: Reader, position: number): Promise<E.Either<StoreError, Named>> =>
  E.map((head: number) => ({ head }))(await resolveAt(reading, position))

/** The message that began the n-th last turn of the user on the path, undefined if there were fewer. */
const turnStart = async (
  reading: Reader,
  last: number,
  n: number,
): Promise<E.Either<StoreError, ConversationEvent | undefined>> => {
  let turns = 0
  let found: ConversationEvent | undefined
  const walked = await walkBack(reading, last, 0, (event) => {
    if (beginsTurn(event) && ++turns === n) found = event
    return found !== undefined
  })
  return E.map(() => found)(walked)
}

/** The slots that a marker stands for: the slice that it covers of what was shown right before it. */
export const slotsUnder = async (
  reading: Reader,
  { position, covers: { first, last } }: { readonly position: number; readonly covers: Covers },
): Promise<E.Either<StoreError, readonly Slot[]>> => {
  const before = await loadEffective(reading, position - 1, false)
  return E.map(({ effective: { outline } }: Loaded) => {
    const positions = outline.slots.map((slot) => slot.position)
    return outline.slots.slice(positions.indexOf(first), positions.indexOf(last) + 1)
  })(before)
}
