import * as E from 'fp-ts/lib/Either.js'
import { badLineOf } from './bad-line.ts'
import type { DocumentFormat } from './format.ts'
import { isTrajectory } from './atif.ts'
import { type ConversationDraft, entriesOfList } from './messages.ts'
import type { ConversationPlan } from './plan.ts'
import type { Shelf } from './shelf.ts'
import { type Fields, isFields } from '../../events/json.ts'
import {
  type FileLine,
  type LineReader,
  type ImportNotes,
  parseJson,
  valuesOf,
  valuesOfLine,
} from './source.ts'

/**
 * Returns a reader of the conversations in a JSON document (a list of messages, one object, or a list of objects) or in JSONL with one
 * object per line. JSONL is read line by line; a document is held in memory.
 */
export const documents =
  ({ parse }: DocumentFormat) =>
  (notes: ImportNotes, shelf: Shelf): LineReader<readonly ConversationPlan[]> => {
    const plans: ConversationPlan[] = []
    const held: FileLine[] = []
    let isLines: boolean | undefined

    const add = (drafts: readonly ConversationDraft[]): void => {
      for (const draft of drafts) for (const plan of parse(draft, notes, shelf)) plans.push(plan)
    }
    const readLine = (line: FileLine): void => {
      for (const value of valuesOfLine(line, notes)) add(draftsOf(value, line.line, notes))
    }
    const read = (line: FileLine): void => {
      if (isLines === undefined && line.text.trim() !== '') isLines = hasConversation(line.text)
      if (isLines === true) readLine(line)
      else held.push(line)
    }
    const finish = (): readonly ConversationPlan[] => {
      const text = textOf(held)
      if (isLines !== true && text.trim() !== '') {
        const parsed = parseJson(text)
        if (E.isRight(parsed)) add(draftsOf(parsed.right, 1, notes))
        else if (held.some((line) => hasConversation(line.text))) for (const line of held) readLine(line)
        else notes.bad(badLineOf(text, parsed.left), `not JSON (${parsed.left})`)
      }
      return plans
    }
    return { read, finish }
  }

export const textOf = (lines: readonly FileLine[]): string => lines.map(({ text }) => text).join('\n')

/** Returns the messages of an object that contains them: a request, a response, or a record of either. */
export const messagesIn = ({ messages, traj, contents, history, ...owner }: Fields): unknown => {
  const { input, output, object, model } = owner
  if (isTrajectory(owner)) return owner['steps']
  const listed = messages ?? traj ?? [contents, history].find(areContents)
  if (listed !== undefined) return listed
  // A call and its output have these fields, too.
  const items = object === 'response' ? [input, output] : model === undefined ? [] : [input]
  const list = items.flatMap((each): unknown[] =>
    typeof each === 'string' ? [{ role: 'user', content: each }] : Array.isArray(each) ? each : [],
  )
  return list.length > 0 ? list : undefined
}
/** Reports whether a value is a list of contents of the Gemini API. */
const areContents = (list: unknown): boolean =>
  Array.isArray(list) && list.some((content) => isFields(content) && Array.isArray(content['parts']))
const hasMessages = (value: unknown): value is Fields => isFields(value) && Array.isArray(messagesIn(value))

/** Reports whether a line contains a whole conversation. No single line of a multi-line document does. */
const hasConversation = (text: string): boolean => valuesOf(text).values.some(hasMessages)

const draftsOf = (document: unknown, line: number, notes: ImportNotes): readonly ConversationDraft[] => {
  const owners: readonly unknown[] = Array.isArray(document) ? document : [document]
  const found = owners.filter(hasMessages)
  if (found.length > 0)
    return found.map((owner) => ({ owner, messages: entriesOfList(messagesIn(owner), line, notes) }))
  return Array.isArray(document) ? [{ owner: {}, messages: entriesOfList(document, line, notes) }] : []
}
