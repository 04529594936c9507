import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../../events/errors.ts'
import { orNearest } from '../reading/nearest-conversation.ts'
import { type Preview, previewOf } from './preview.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import type { WriteError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { objectOf } from './envelope.ts'
import type { CommandInput } from './inputs.ts'
import { commandExample, parseCommand } from './writer.ts'

/** The method that previews commands. */
export interface CommandPreviewer<W extends ResultStyle = 'task'> {
  /**
   * Returns the effect that a command would have if it ran now: its events, and the context before and after them. Writes nothing.
   * Errors: those of the command.
   *
   * @example
   * const { events, before, after } = await chat.preview({ type: 'rewind', turns: 1 })
   * console.log(events[0]?.type, before.items.length, '→', after.items.length)
   */
  readonly preview: (command: CommandInput) => MethodResult<W, WriteError, Preview>
}

export const createPreviewer = (
  store: EventStore,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
): CommandPreviewer => ({
  preview: (input) => {
    const given = E.flatMap(parseCommand)(objectOf(input, commandExample))
    const work = task(async function* (): Fallible<WriteError, Preview> {
      const { command } = yield* unwrap(given)
      yield* unwrap(checkedId)
      return yield* previewOf(store, id, command)
    })
    return orNearest(store, work)
  },
})
