import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import type { Event } from '../events/events.ts'
import { atOnce, type SliceGenerator } from '../projections/slices.ts'
import { decideAppend, checkFence } from './append.ts'
import type { Command, ConversationCommand } from './command.ts'
import { configure } from './configure.ts'
import { condense, truncate, withLastView } from './hide.ts'
import { conversationNotFound, type CommandRejection } from './rejections.ts'
import { restore } from './restore.ts'
import { rewind, undo } from './rewind.ts'
import type { ShownState, MoveState, CommandState, AppendState } from './state.ts'

type Decision<T extends ConversationCommand['type'] = ConversationCommand['type']> = E.Either<
  CommandRejection<T>,
  readonly Event[]
>

/** Decides a command on a conversation: returns the events to append, possibly none, or the rejection. */
export const decide = (command: ConversationCommand, state: CommandState): Decision =>
  isMove(command) ? decideMove(command, state) : atOnce(decideInSlices(command, state))

type Move = Command<'rewind' | 'undo'>
export const isMove = (command: ConversationCommand): command is Move =>
  command.type === 'rewind' || command.type === 'undo'

/** Decides a rewind or an undo. Neither depends on the effective history. */
export const decideMove = (command: Move, standing: MoveState): Decision<Move['type']> =>
  pipe(
    checkFence(command, standing),
    E.flatMap(() => existing(standing)),
    E.flatMap((): Decision<Move['type']> =>
      command.type === 'undo' ? undo(command, standing) : rewind(command, standing),
    ),
  )

/** Decides a command other than a rewind or an undo, in slices of work. */
export function* decideInSlices(
  command: Exclude<ConversationCommand, Move>,
  shown: ShownState,
): SliceGenerator<Decision<Exclude<ConversationCommand['type'], Move['type']>>> {
  if (command.type === 'append')
    return E.map((events: readonly Event[]) => withLastView(events, shown))(decideAppend(command, shown))
  const fit = checkFence(command, shown)
  if (E.isLeft(fit)) return fit
  // A configuration may come before the first message; any other command needs a conversation.
  if (command.type === 'configure') return E.right(configure(command, shown))
  const there = existing(shown)
  return E.isLeft(there) ? there : yield* change(command, shown)
}

type Change = Exclude<ConversationCommand, Move | Command<'append' | 'configure'>>
function* change(command: Change, shown: ShownState): SliceGenerator<Decision<Change['type']>> {
  switch (command.type) {
    case 'condense':
      return yield* condense(command, shown)
    case 'truncate':
      return yield* truncate(command, shown)
    case 'restore':
      return restore(command, shown)
  }
}

const existing = ({ conversation, last }: AppendState): E.Either<CommandRejection<'configure'>, void> =>
  last < 0 ? E.left(conversationNotFound(conversation)) : E.right(undefined)
