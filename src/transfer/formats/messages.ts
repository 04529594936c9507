import * as E from 'fp-ts/lib/Either.js'
import type { Block } from '../../events/blocks.ts'
import { check } from '../../events/check.ts'
import { type Configuration, dataSchemas, type Origin, type Role } from '../../events/events.ts'
import type { ConversationPlan, ImportAction } from './plan.ts'
import type { LazyList, Shelf } from './shelf.ts'
import { actionsOn } from './actions.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { digest, type FileEntry, idOf, messageProblem, type ImportNotes, stringOf } from './source.ts'

/**
 * Returns the blocks of a message's content; a string becomes one text block. Any other value is returned unchanged, to be reported as
 * a bad line if it is not a list.
 */
export const blocksOf = (content: unknown): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Block[])

/** Adds to the import notes the fields of an entry that are left out because messages have no such fields. */
export const leaveOutFields = (fields: Fields, known: ReadonlySet<string>, notes: ImportNotes): void => {
  for (const field of Object.keys(fields))
    if (!known.has(field)) notes.leftOut(`field ${field}`, 'messages have no such field')
}

/** A conversation in a JSON file, before it has an id. */
export interface ConversationDraft {
  /** The object that contains the conversation; empty if the file is just a list of messages. */
  readonly owner: Fields
  readonly messages: readonly FileEntry[]
}

/** Returns the fields of the object that contains the messages, except the `known` ones; undefined if no fields are left. */
export const parametersOf = (owner: Fields, known: readonly string[]): Configuration['parameters'] => {
  const rest = Object.entries(owner).filter(([field]) => !known.includes(field))
  return rest.length > 0 ? Object.fromEntries(rest) : undefined
}

/** A message from a list, as the model saw it. */
export interface RoleContent {
  readonly role: Role
  readonly content: readonly Block[]
  readonly origin?: Origin
}

/** A message from a list, with its line in the file. `kind` is the file's own term for the message. */
export interface ListedMessage {
  readonly line: number
  readonly kind: string
  readonly said: RoleContent
  /** Name of the message that stays the same if it grows. Default: its index and content. */
  readonly ref?: string
  /** Time of the message in ISO 8601, UTC. */
  readonly time?: string
}

/** Returns the actions of a list of messages: the configuration first, if it is not empty, then the messages. */
export const listActions = (
  configuration: Configuration,
  messages: readonly ListedMessage[],
  { notes, shelf }: { readonly notes: ImportNotes; readonly shelf: Shelf },
): LazyList<ImportAction> => {
  const actions = actionsOn(shelf)
  const wrong = check(dataSchemas.Configured, configuration)
  if (E.isLeft(wrong)) notes.bad(1, `configuration: ${wrong.left.message}`)
  else if (Object.keys(configuration).length > 0) {
    notes.mapped('configuration')
    actions.add({ type: 'configure', ref: `configuration-${digest(configuration)}`, configuration })
  }
  for (const [index, { line, kind, said, ref = `${index}-${digest(said)}`, time }] of messages.entries()) {
    const problem = messageProblem(said)
    if (problem !== undefined) notes.bad(line, `message ${index}: ${problem}`)
    else {
      notes.mapped(`message ${kind}`)
      // With an index alone, a message of another conversation imported under the same id would be mistaken for this one.
      actions.add({ type: 'message', ref, ...(time !== undefined && { time }), message: said })
    }
  }
  return actions.list()
}

/**
 * Returns a plan whose id is taken from the file or derived from the content; empty if the conversation has no actions. Conversations
 * with the same content get numbered ids.
 */
export const planOf = (
  format: string,
  { owner }: ConversationDraft,
  actions: LazyList<ImportAction>,
): readonly ConversationPlan[] => {
  if (actions.length === 0) return []
  const given = ['id', 'session_id', 'conversation_id'].map((field) => stringOf(owner[field]))
  const id =
    given.find((each) => each !== undefined) ?? `${format}-${digest(Array.from(actions, ({ ref }) => ref))}`
  return [{ id: idOf(id), actions }]
}

/** Returns the objects of a list, each with its line. Elements that are not objects are reported as bad. */
export const entriesOfList = (list: unknown, line: number, notes: ImportNotes): readonly FileEntry[] => {
  if (!Array.isArray(list)) return []
  return list.flatMap((fields: unknown, index) => {
    if (isFields(fields)) return [{ line, fields }]
    notes.bad(line, `message ${index} is not an object`)
    return []
  })
}
