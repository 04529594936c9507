import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { areUnedited } from '../../commands/append.ts'
import {
  type Command,
  type CommandType,
  commandSchemas,
  type ConversationCommand,
} from '../../commands/command.ts'
import type { CommandRejection } from '../../commands/rejections.ts'
import { checkJson } from '../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { copyJson, type Fields, isFields, type Json } from '../../events/json.ts'
import type { CommandEnvelope, WriteResult } from './encode.ts'
import type { Handler } from './handle.ts'
import { findOversized } from '../../projections/pictures.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import type {
  AppendError,
  ConfigureError,
  HideError,
  RestoreError,
  RewindError,
  StoreError,
  UndoError,
  WriteError,
} from '../../store/errors.ts'
import { objectOf, splitEnvelope } from './envelope.ts'
import type {
  AppendOptions,
  CommandInput,
  CondenseInput,
  ConfigureInput,
  MessageInput,
  RestoreInput,
  RewindInput,
  TruncateInput,
  UndoInput,
} from './inputs.ts'

/** Methods that write to a conversation. */
export interface ConversationWriter<W extends ResultStyle = 'task'> {
  /**
   * Appends one or more messages in order, all or nothing. Appends that are not awaited are written in the order of the calls. Errors:
   * `OutOfRange` and `ConversationNotFound`, with `branchAt` or `rewindTo`.
   *
   * @example
   * const { position } = await chat.append({ role: 'assistant', content: 'Nothing else is open.' })
   * await chat.append({ role: 'user', content: 'Then close line 80.' }, { after: position })
   */
  readonly append: (
    message: MessageInput | readonly MessageInput[],
    options?: AppendOptions,
  ) => MethodResult<W, AppendError, WriteResult>
  /**
   * Records the content of requests other than messages, for all later requests. Omitted fields keep their values; null removes a
   * field. If nothing changes, nothing is written. Errors: only those of every writer.
   *
   * @example
   * await chat.configure({ system: 'Answer in one sentence.', model: 'claude-opus-5-5', tools: null })
   */
  readonly configure: (input: ConfigureInput) => MethodResult<W, ConfigureError, WriteResult>
  /**
   * Shows a slice of the effective history as a summary from now on; nothing is deleted. By default, the slice contains everything
   * except the first message and the last three. Errors: `NothingToHide`; with `covers`, `NotShown` and `UnsafeCut`;
   * `ConversationNotFound`.
   *
   * @example
   * await chat.condense({ summary: 'Three strings were not closed.', keepLast: 1 })
   */
  readonly condense: (input: CondenseInput) => MethodResult<W, HideError, WriteResult>
  /**
   * Stops showing a slice of the effective history; nothing is deleted. The default slice and the errors are the same as for
   * `condense`.
   *
   * @example
   * await chat.truncate({ fraction: 0.5, reason: 'the first strings are closed' })
   */
  readonly truncate: (input: TruncateInput) => MethodResult<W, HideError, WriteResult>
  /**
   * Shows the items that a marker hid again, in place of the marker; later messages stay. Errors: `NotShown` if no such marker is shown
   * (restore nested markers from the outside in), `ConversationNotFound`.
   *
   * @example
   * const { position: marker } = await chat.truncate({ covers: { first: 1, last: 2 } })
   * await chat.restore({ marker })
   */
  readonly restore: (input: RestoreInput) => MethodResult<W, RestoreError, WriteResult>
  /**
   * Returns the conversation to an earlier moment. Nothing is lost: a rewind can be undone, and any position can be the target, even on
   * an abandoned branch. Errors: `OutOfRange`, `NothingToRewind`, `ConversationNotFound`.
   *
   * @example
   * await chat.rewind({ turns: 1, reason: 'asked too early' })
   */
  readonly rewind: (input: RewindInput) => MethodResult<W, RewindError, WriteResult>
  /**
   * Undoes the last event if it is a rewind, condense, truncate or restore. An undo is a rewind, so undoing it is a redo. Errors:
   * `NothingToUndo`, `ConversationNotFound`.
   *
   * @example
   * await chat.rewind({ to: 3 })
   * await chat.undo()
   */
  readonly undo: (input?: UndoInput) => MethodResult<W, UndoError, WriteResult>
  /**
   * Executes a command given as data, like the method of its name. Errors: those of that method.
   *
   * @example
   * await chat.execute({ type: 'truncate', fraction: 0.5 })
   */
  readonly execute: (command: CommandInput) => MethodResult<W, WriteError, WriteResult>
}

interface CommandOrder<T extends CommandType> {
  readonly command: Command<T>
  readonly envelope: CommandEnvelope
}

/** Splits a writer's options into the command and its envelope, and checks both. `own` is passed to `checkJson`. */
export const splitInput = <T extends CommandType>(
  type: T,
  options: CommandEnvelope & Record<string, unknown>,
  own?: object,
): E.Either<InvalidInput, CommandOrder<T>> =>
  pipe(
    splitEnvelope(options),
    E.flatMap(({ envelope, input }) =>
      pipe(
        checkJson(commandSchemas[type], input, own),
        E.map((command) => ({ command: { type, ...(command as object) } as Command<T>, envelope })),
      ),
    ),
  )

/** Adds empty content to a `system` message that has none. The API accepts such a message because of its other fields. */
const withContent = (message: Json): Json =>
  isFields(message) && message['role'] === 'system' && message['content'] === undefined
    ? { ...message, content: [] }
    : message

/**
 * Copies the messages, so that the caller may change them afterwards. Because a list may have any length, it is copied only here and
 * not again by later checks.
 */
export const snapshotOf = (messages: readonly unknown[]): E.Either<InvalidInput, readonly Json[]> => {
  const copied = copyJson(messages)
  return E.isLeft(copied)
    ? E.left(invalidInput(`messages${copied.left.path}`, copied.left.problem))
    : E.right((copied.right as readonly Json[]).map(withContent))
}

/** A method that writes to a conversation, for the library's own use. */
export interface InternalWriter {
  /**
   * Like `append`, but for messages that are recorded regardless of their content: replies, tool results, and messages that were
   * checked when they were queued.
   */
  readonly record: ConversationWriter['append']
}

/** Refuses images that are too large for any API request: the model would see a text in their place. */
export const withoutOversized = <M extends readonly unknown[]>(messages: M): E.Either<InvalidInput, M> => {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    const refused = isFields(message) ? refusedIn(message, `messages[${index}]`) : undefined
    if (refused) return E.left(refused)
  }
  return E.right(messages)
}

const refusedIn = ({ content, shown }: Fields, path: string): InvalidInput | undefined =>
  refusedAt(content, `${path}.content`) ??
  (isFields(shown) ? refusedAt(shown['content'], `${path}.shown.content`) : undefined)

const refusedAt = (content: unknown, path: string): InvalidInput | undefined => {
  const found = findOversized(content)
  if (!found) return undefined
  const advice = 'Scale it down; with at most 2000 pixels on a side, it can be sent with any number of others'
  return invalidInput(`${path}${found.path}`, `no model accepts this picture: ${found.problem}. ${advice}`)
}

type Checked = (messages: readonly Json[]) => E.Either<InvalidInput, readonly Json[]>

type DataType = ConversationCommand['type']
const types = Object.keys(commandSchemas).filter((type) => type !== 'fork')
const isType = (type: unknown): type is DataType => types.some((known) => known === type)

/** Validates a command given as data. */
export const parseCommand = ({
  type,
  messages,
  ...input
}: Record<string, unknown>): E.Either<InvalidInput, CommandOrder<DataType>> => {
  if (!isType(type)) return E.left(invalidInput('type', `must be one of ${types.join(', ')}`))
  if (type !== 'append') return splitInput<DataType>(type, { ...input, messages })
  return pipe(
    snapshotOf(Array.isArray(messages) ? messages : [messages]),
    E.flatMap(withoutOversized),
    E.flatMap((own) => splitInput<DataType>(type, { ...input, messages: undefined }, { messages: own })),
  )
}

/** Options of each method, as an example in the error for anything else. */
const examples: Readonly<Partial<Record<DataType, string>>> = {
  append: "{ commandId: 'c-1' }",
  configure: "{ model: 'claude-opus-5-5' }",
  condense: "{ summary: 'The parser was examined.' }",
  truncate: '{ fraction: 0.5 }',
  restore: '{ marker: 6 }',
  rewind: '{ to: 4 }',
}
/** A command, as an example in the error for anything else. */
export const commandExample = "{ type: 'rewind', to: 4 }"

export const createWriter = (
  handler: Handler,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
): ConversationWriter & InternalWriter => {
  /** Checks the input immediately, so that commands reach the handler in the order in which they were given. */
  const carryOut =
    <T extends DataType>(
      input: unknown,
      parse: (options: Record<string, unknown>) => E.Either<InvalidInput, CommandOrder<T>>,
      example?: string,
    ): MethodResult<'task', StoreError | CommandRejection<T>, WriteResult> =>
    () => {
      const given = pipe(
        checkedId,
        E.flatMap(() => objectOf(input, example)),
        E.flatMap(parse),
      )
      return E.isLeft(given)
        ? Promise.resolve(given)
        : handler.handle(id, given.right.command, given.right.envelope)
    }
  const run = <T extends DataType>(type: T, input: unknown, own?: object) =>
    carryOut(input, (options) => splitInput(type, options, own), examples[type])

  const appending =
    (checked: Checked): ConversationWriter['append'] =>
    (message, options) =>
    () => {
      const copied = snapshotOf(Array.isArray(message) ? message : [message])
      const messages = E.isLeft(copied) ? copied : checked(copied.right)
      if (E.isLeft(messages)) return Promise.resolve(messages)
      const appendChecked = (): Promise<E.Either<AppendError, WriteResult>> => {
        const given = objectOf(options ?? {})
        return E.isLeft(given)
          ? Promise.resolve(given)
          : run('append', { ...given.right, messages: undefined }, { messages: messages.right })()
      }
      if (options !== undefined || E.isLeft(checkedId) || !areUnedited(messages.right)) return appendChecked()
      // Nearly all messages are valid. Only if they cannot be encoded are they checked by the schema, which locates the fault.
      return handler
        .handle<'append'>(id, { type: 'append', messages: messages.right }, {})
        .then((answer) =>
          E.isLeft(answer) && answer.left._tag === 'InvalidInput' ? appendChecked() : answer,
        )
    }

  return {
    append: appending(withoutOversized),
    record: appending(E.right),
    configure: (input) => run('configure', input),
    condense: (input) => run('condense', input),
    truncate: (input) => run('truncate', input),
    restore: (input) => run('restore', input),
    rewind: (input) => run('rewind', input),
    undo: (input = {}) => run('undo', input),
    execute: (command) => carryOut(command, parseCommand, commandExample),
  }
}
