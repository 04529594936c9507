import type { Fields } from '../../events/json.ts'
import type { ConversationDraft } from './messages.ts'
import type { BuiltInFormat, ConversationPlan } from './plan.ts'
import type { Shelf } from './shelf.ts'
import type { LineReader, ImportNotes } from './source.ts'

/** A format of JSON Lines. */
export interface LineFormat<A = readonly ConversationPlan[]> {
  readonly name: BuiltInFormat
  /** Reports whether a line with these fields shows that the file has this format. */
  readonly recognises: (fields: Fields) => boolean
  readonly read: (notes: ImportNotes, shelf: Shelf) => LineReader<A>
}

/** A format of lists of messages, in a JSON document or one per line. */
export interface DocumentFormat {
  readonly name: BuiltInFormat
  /** @param owner the object that contains the messages; empty if there is none */
  readonly recognises: (messages: readonly Fields[], owner: Fields) => boolean
  readonly parse: (draft: ConversationDraft, notes: ImportNotes, shelf: Shelf) => readonly ConversationPlan[]
}

export const hasAll = (fields: Fields, ...names: readonly string[]): boolean =>
  names.every((name) => Object.hasOwn(fields, name))

export const someHave = (messages: readonly Fields[], names: readonly string[]): boolean =>
  messages.some((message) => names.some((name) => Object.hasOwn(message, name)))
