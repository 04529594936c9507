import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import type { Event, EventType } from '../events/events.ts'
import { invalidInput } from '../events/errors.ts'
import { append, appendAfterRewind, appendOnBranch } from './append.ts'
import type { Command, ConversationCommand } from './command.ts'
import { configure } from './configure.ts'
import { condense, truncate, withLastView } from './hide.ts'
import { conversationNotFound, outOfRange, type Rejection, staleContext } from './rejections.ts'
import { restore } from './restore.ts'
import { rewind, undo } from './rewind.ts'
import type { State, AppendState } from './state.ts'

/** What happens when a command meets a conversation: the events to append, none if nothing has to be, or why it is refused. */
export const decide = (command: ConversationCommand, state: State): E.Either<Rejection, readonly Event[]> => {
  if (command.type === 'append')
    return E.map((events: readonly Event[]) => withLastView(events, state))(decideAppend(command, state))
  return pipe(
    fenced(command, state),
    E.flatMap((): E.Either<Rejection, readonly Event[]> => {
      // A configuration may come before the first message; nothing else can be done to what is not there.
      if (command.type === 'configure') return E.right(configure(command, state))
      if (state.last < 0) return E.left(conversationNotFound(state.conversation))
      switch (command.type) {
        case 'condense':
          return condense(command, state)
        case 'truncate':
          return truncate(command, state)
        case 'restore':
          return restore(command, state)
        case 'rewind':
          return rewind(command, state)
        case 'undo':
          return undo(command, state)
      }
    }),
  )
}

/** As `decide`, of an append without edits, which needs to know no more than where the conversation ends. */
export const decideAppend = (
  command: Command<'append'>,
  state: AppendState,
): E.Either<Rejection, readonly Event[]> =>
  pipe(
    fenced(command, state),
    E.flatMap((): E.Either<Rejection, readonly Event[]> => {
      const { messages, branchAt, rewindTo, again } = command
      const { conversation, last } = state
      const position = branchAt ?? rewindTo
      if (again && rewindTo === undefined) return E.left(invalidInput('again', 'goes with rewindTo only'))
      if (position === undefined) return E.right(append(command, last))
      if (branchAt !== undefined && rewindTo !== undefined)
        return E.left(invalidInput('branchAt', 'give one of branchAt and rewindTo'))
      if (last < 0) return E.left(conversationNotFound(conversation))
      if (position > last) return E.left(outOfRange(conversation, position, last))
      return E.right(
        branchAt === undefined
          ? appendAfterRewind(command, position, last)
          : appendOnBranch(messages, position, last),
      )
    }),
  )

const isMarkerOrRestore = (type: EventType): boolean =>
  type === 'Condensed' || type === 'Truncated' || type === 'Restored'

const fenced = (
  { after, tolerate }: ConversationCommand,
  { conversation, last, since }: AppendState,
): E.Either<Rejection, void> => {
  if (after === undefined || after === last) return E.right(undefined)
  const isTolerable = tolerate === 'markers' && after < last && since.every(isMarkerOrRestore)
  return isTolerable ? E.right(undefined) : E.left(staleContext(conversation, after, last))
}
