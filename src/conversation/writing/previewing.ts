import * as E from 'fp-ts/lib/Either.js'
import { commandSchemas } from '../../commands/command.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { orNearest } from '../reading/nearest-conversation.ts'
import { type Preview, previewOf } from './preview.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { ok, type Steps, task } from '../../result/steps.ts'
import type { WriteError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { objectOf } from './envelope.ts'
import type {
  AppendOptions,
  CondenseInput,
  ConfigureInput,
  MessageInput,
  RestoreInput,
  RewindInput,
  TruncateInput,
  UndoInput,
} from './inputs.ts'
import { snapshotOf, split } from './writing.ts'

interface Appending {
  readonly messages: readonly MessageInput[]
}
type Tagged<T extends string, Input> = { readonly type: T } & Input
/** A command on a conversation as data: what the method of that name takes. */
export type CommandInput =
  | Tagged<'append', Appending & AppendOptions>
  | Tagged<'configure', ConfigureInput>
  | Tagged<'condense', CondenseInput>
  | Tagged<'truncate', TruncateInput>
  | Tagged<'restore', RestoreInput>
  | Tagged<'rewind', RewindInput>
  | Tagged<'undo', UndoInput>

/** What tells what a command would do. */
export interface CommandPreviewer<W extends ResultStyle = 'task'> {
  /**
   * What a command would do if it were carried out now: the events, and what the model sees before and after them. Writes nothing. Errors:
   * those of the command.
   *
   * @example
   * const { events, before, after } = await chat.preview({ type: 'rewind', turns: 1 })
   * console.log(events[0]?.type, before.items.length, '→', after.items.length)
   */
  readonly preview: (command: CommandInput) => MethodResult<W, WriteError, Preview>
}

type Type = CommandInput['type']
const types = Object.keys(commandSchemas).filter((type) => type !== 'fork')
const isType = (type: unknown): type is Type => types.some((known) => known === type)

export const previewing = (
  store: EventStore,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
): CommandPreviewer => ({
  preview: (input) => {
    const given = E.flatMap(typed)(objectOf(input))
    const work = task(async function* (): Steps<WriteError, Preview> {
      const { command } = yield* ok(given)
      yield* ok(checkedId)
      return yield* previewOf(store, id, command)
    })
    return orNearest(store, work)
  },
})

const typed = ({ type, messages, ...input }: Record<string, unknown>) => {
  if (!isType(type)) return E.left(invalidInput('type', `is one of ${types.join(', ')}`))
  if (type !== 'append') return split<Type>(type, { ...input, messages })
  const snapshot = snapshotOf(Array.isArray(messages) ? messages : [messages])
  return E.flatMap((own) => split<Type>(type, { ...input, messages: undefined }, { messages: own }))(snapshot)
}
