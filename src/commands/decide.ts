import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import { isMarkerOrRestore } from '../events/event-traits.ts'
import type { Event } from '../events/events.ts'
import { invalidInput } from '../events/errors.ts'
import { atOnce, type SliceGenerator } from '../projections/slices.ts'
import { append, appendAfterRewind, appendOnBranch } from './append.ts'
import type { Command, ConversationCommand } from './command.ts'
import { configure } from './configure.ts'
import { condense, truncate, withLastView } from './hide.ts'
import { conversationNotFound, outOfRange, type CommandRejection, staleContext } from './rejections.ts'
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
    fenced(command, standing),
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
  const fit = fenced(command, shown)
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

/** Decides an append without edits, which requires only the end of the conversation. Avoids `pipe`, because this is the hot path. */
export const decideAppend = (command: Command<'append'>, tail: AppendState): Decision<'append'> => {
  const stale = fenced(command, tail)
  if (E.isLeft(stale)) return stale
  const { messages, branchAt, rewindTo, again } = command
  const { conversation, last } = tail
  const position = branchAt ?? rewindTo
  if (again && rewindTo === undefined)
    return E.left(invalidInput('again', 'can only be used together with rewindTo'))
  if (position === undefined) return E.right(append(command, last))
  if (branchAt !== undefined && rewindTo !== undefined)
    return E.left(invalidInput('branchAt', 'cannot be combined with rewindTo'))
  if (last < 0) return E.left(conversationNotFound(conversation))
  if (position > last) return E.left(outOfRange(conversation, position, last))
  return E.right(
    branchAt === undefined
      ? appendAfterRewind(command, position, last)
      : appendOnBranch(messages, position, last),
  )
}

const fenced = (
  { after, tolerate }: ConversationCommand,
  { conversation, last, since }: AppendState,
): E.Either<CommandRejection<'configure'>, void> => {
  if (after === undefined || after === last) return E.right(undefined)
  const isTolerable =
    tolerate === 'markers' && after < last && since.every((type) => isMarkerOrRestore({ type }))
  return isTolerable ? E.right(undefined) : E.left(staleContext(conversation, after, last))
}
