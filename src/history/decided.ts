import * as E from 'fp-ts/lib/Either.js'
import { hasEdits } from '../commands/append.ts'
import type { Command, ConversationCommand } from '../commands/command.ts'
import { decideAppend, decideMove, decideShown, isMove } from '../commands/decide.ts'
import type { Event } from '../events/events.ts'
import type { WriteError } from '../store/errors.ts'
import { lastPosition } from './ends.ts'
import { gatherAppendState, gatherMoveState, gatherShownState } from './gather.ts'
import type { Known } from './known.ts'
import type { Moment, Moments } from './moments.ts'
import type { Reader } from './reader.ts'

/** What a command comes to. */
export interface Decided {
  readonly events: readonly Event[]
  /** What was shown before them, if it was looked at. */
  readonly moment?: Moment
  /** Where the conversation stood before them, if that was looked at. */
  readonly from?: number
  /** Where a rewind leads. */
  readonly to?: number | undefined
}

/** An append that only has to know where the conversation ends. */
export const isBlind = (command: ConversationCommand): command is Command<'append'> =>
  command.type === 'append' &&
  !hasEdits(command.messages) &&
  (command.after === undefined || command.tolerate === undefined)

/** Decides what asks nothing of the store. */
export const decideBlind = (
  conversation: string,
  known: Known,
  command: Command<'append'>,
): E.Either<WriteError, Decided> =>
  withEvents({}, decideAppend(command, { conversation, last: lastPosition(known), since: [] }))

/** Decides any other command, on what is remembered, and what is read where that is not enough. */
export const decideOn = async (
  conversation: string,
  { reading, known, moments }: { readonly reading: Reader; readonly known: Known; readonly moments: Moments },
  command: ConversationCommand,
): Promise<E.Either<WriteError, Decided>> => {
  const end = await gatherAppendState(reading, conversation, lastPosition(known), command)
  if (E.isLeft(end)) return end
  if (command.type === 'append' && !hasEdits(command.messages))
    return withEvents({}, decideAppend(command, end.right))
  if (isMove(command)) {
    const state = await gatherMoveState(reading, end.right, command, known)
    if (E.isLeft(state)) return state
    const { head: from, named } = state.right
    return withEvents({ from, to: named.head }, decideMove(command, state.right))
  }
  const momentAt = (position: number): Moment | undefined => moments.at(conversation, position)
  const state = await gatherShownState(reading, end.right, command, known.head, momentAt)
  if (E.isLeft(state)) return state
  const { effective, sinceView, replaced } = state.right
  const { head: from } = effective
  const moment = { effective: { ...effective, at: from }, sinceView, replaced }
  moments.keep(conversation, moment)
  return withEvents({ from, moment }, decideShown(command, state.right))
}

const withEvents = (
  seen: Omit<Decided, 'events'>,
  decision: E.Either<WriteError, readonly Event[]>,
): E.Either<WriteError, Decided> => E.map((events: readonly Event[]) => ({ ...seen, events }))(decision)
