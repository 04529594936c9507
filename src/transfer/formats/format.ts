import type { Fields } from '../../events/json.ts'
import type { ConversationDraft } from './messages.ts'
import type { BuiltInFormat, ConversationPlan } from './plan.ts'
import type { Shelf } from './shelf.ts'
import type { LineReader, ImportNotes } from './source.ts'

/** A file format based on JSON Lines. */
export interface LineFormat<A = readonly ConversationPlan[]> {
  readonly name: BuiltInFormat
  /** Reports whether a line with these fields indicates that the file has this format. */
  readonly recognises: (fields: Fields) => boolean
  readonly read: (notes: ImportNotes, shelf: Shelf) => LineReader<A>
}

/** A file format that consists of lists of messages, in one JSON document or one list per line. */
export interface DocumentFormat {
  readonly name: BuiltInFormat
  /**
   * Reports whether these messages indicate that the file has this format.
   *
   * @param owner the object that contains the messages; empty if the file is just a list of messages
   */
  readonly recognises: (messages: readonly Fields[], owner: Fields) => boolean
  readonly parse: (draft: ConversationDraft, notes: ImportNotes, shelf: Shelf) => readonly ConversationPlan[]
}

export const hasAll = (fields: Fields, ...names: readonly string[]): boolean =>
  names.every((name) => Object.hasOwn(fields, name))

export const someHave = (messages: readonly Fields[], names: readonly string[]): boolean =>
  messages.some((message) => names.some((name) => Object.hasOwn(message, name)))
