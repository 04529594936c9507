import * as E from 'fp-ts/lib/Either.js'
import { canUndo } from '../events/event-traits.ts'
import { invalidInput } from '../events/errors.ts'
import type { Event } from '../events/events.ts'
import type { Command } from './command.ts'
import { nothingToRewind, nothingToUndo, outOfRange, type CommandRejection } from './rejections.ts'
import type { MoveState } from './state.ts'

/** Decides a rewind to the conversation's state at any earlier position, including one on an abandoned branch. */
export const rewind = (
  command: Command<'rewind'>,
  state: MoveState,
): E.Either<CommandRejection<'rewind'>, readonly Event[]> => {
  const { conversation, last, named, head: now } = state
  const { to, before, turns, reason } = command
  const position = to ?? before
  if (position !== undefined && position > last) return E.left(outOfRange(conversation, position, last))
  if (turns !== undefined && !named.event)
    return E.left(
      nothingToRewind(
        conversation,
        `has fewer than ${turns} user turns: rewind fewer turns, or to a position`,
      ),
    )
  if (before !== undefined && named.event?.type !== 'MessageAppended')
    return E.left(
      invalidInput(
        'before',
        `position ${before} holds a ${named.event?.type}, not a message: rewind with 'to' instead of 'before'`,
      ),
    )
  const { head } = named
  return head === undefined || head === now
    ? E.left(nothingToRewind(conversation, `is already at position ${now}: rewind to another position`))
    : E.right([rewound(head, reason)])
}

/**
 * Decides an undo of the last event, which must be a rewind, a marker or a restore. An undo is itself a rewind, so undoing it is a
 * redo.
 */
export const undo = (
  { reason }: Command<'undo'>,
  state: MoveState,
): E.Either<CommandRejection<'undo'>, readonly Event[]> => {
  const { conversation, lastType, named } = state
  return named.head !== undefined && canUndo(lastType)
    ? E.right([rewound(named.head, reason)])
    : E.left(nothingToUndo(conversation))
}

const rewound = (to: number, reason: string | undefined): Event => ({
  type: 'Rewound',
  data: { to, ...(reason !== undefined && { reason }) },
})
