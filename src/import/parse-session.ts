import * as E from 'fp-ts/lib/Either.js'
import { check } from '../events/check.ts'
import { invalidInput } from '../events/errors.ts'
import { conversationIdSchema } from '../events/ids.ts'
import { parseAnthropic } from './anthropic.ts'
import { parseClaudeCode } from './claude-code.ts'
import { badLine, type ImportError } from './errors.ts'
import { type Draft, entriesOfList } from './messages.ts'
import { parseOpenAi } from './openai.ts'
import { parsePalimpsest } from './palimpsest.ts'
import { parsePi } from './pi.ts'
import type { ConversationPlan, Format, ImportPlan, Step, StoredImport } from './plan.ts'
import { recognise } from './recognise.ts'
import { parseRoo } from './roo.ts'
import { badLineOf } from './bad-line.ts'
import { isFields, linesOf, type Notes, parseJson, takeNotes, valuesOf } from './source.ts'

export interface SessionFile {
  readonly text: string
  /** Its name, for messages. */
  readonly file: string
  /** Default: by content. */
  readonly format?: Format
  /** The conversation's id; the second and later ones of a file get `-2`, `-3` behind it. Default: the id in the file, or one made of the content. */
  readonly id?: string
  /** Pass over lines that cannot be read, and list them in the report. Default false: the first one is an error. */
  readonly skipBadLines?: boolean
}

/**
 * Reads a session of another program, or of this one: what to do to have it in a store, and what became of every entry.
 * Nothing is written here.
 *
 * Errors: `UnknownFormat`; `BadLine` for a torn or malformed line; `InvalidInput` for an `id` that is none, or that would rename one of
 * several stored conversations.
 */
export const parseSession = (session: SessionFile): E.Either<ImportError, ImportPlan | StoredImport> => {
  const { file, id, skipBadLines = false } = session
  const text = session.text.replace(/^\uFEFF/, '')
  const checked = id === undefined ? E.right(id) : check(conversationIdSchema, id)
  if (E.isLeft(checked)) return E.left(invalidInput('id', checked.left.message))
  const found = session.format === undefined ? recognise(text) : E.right(session.format)
  if (E.isLeft(found)) return E.left({ ...found.left, message: `${file}: ${found.left.message}` })
  const notes = takeNotes()
  const format = found.right
  const plan = format === 'palimpsest' ? readStored(text, notes, id) : readPlan(format, text, notes, id)
  const report = notes.report()
  const [bad] = report.badLines
  // A document that cannot be parsed has nothing behind the bad line to go on with.
  const isUnreadable = E.isRight(plan) && plan.right.conversations.length === 0
  if (bad && (!skipBadLines || isUnreadable)) return E.left(badLine(file, bad.line, bad.problem))
  return E.map((read: Unreported): ImportPlan | StoredImport => ({ ...read, report }))(plan)
}

type Unreported = Omit<ImportPlan, 'report'> | Omit<StoredImport, 'report'>
type Read = E.Either<ImportError, Unreported>

const readStored = (text: string, notes: Notes, id: string | undefined): Read => {
  const stored = parsePalimpsest(text, notes)
  if (id !== undefined && stored.length > 1)
    return E.left(
      invalidInput('id', `the file holds ${stored.length} conversations, which keep their ids: leave it out`),
    )
  const conversations = id === undefined ? stored : stored.map((conversation) => ({ ...conversation, id }))
  return E.right({ format: 'palimpsest', conversations })
}

type Foreign = Exclude<Format, 'palimpsest'>

const readPlan = (format: Foreign, text: string, notes: Notes, id: string | undefined): Read => {
  const taken = new Map<string, number>()
  // What sets a model and says nothing is no conversation.
  const plans = plansOf(format, text, notes).filter(({ steps }) => steps.some(isSaid))
  const named = plans.map((plan) => {
    const wished = id ?? plan.id
    const count = (taken.get(wished) ?? 0) + 1
    taken.set(wished, count)
    return count === 1 ? { ...plan, id: wished } : { ...plan, id: `${wished.slice(0, 190)}-${count}` }
  })
  return E.right({ format, conversations: named })
}

const isSaid = ({ type }: Step): boolean => type === 'message' || type === 'condense'

const plansOf = (format: Foreign, text: string, notes: Notes): readonly ConversationPlan[] => {
  switch (format) {
    case 'claude-code':
      return parseClaudeCode(text, notes)
    case 'pi':
      return parsePi(text, notes)
    case 'roo':
      return documentsOf(text, notes).flatMap(({ messages }) => parseRoo(messages, notes))
    case 'openai':
      return documentsOf(text, notes).flatMap((draft) => parseOpenAi(draft, notes))
    case 'anthropic':
      return documentsOf(text, notes).flatMap((draft) => parseAnthropic(draft, notes))
  }
}

/** The conversations of a JSON document (a list of messages, one object, or a list of objects) or of JSONL, an object a line. */
const documentsOf = (text: string, notes: Notes): readonly Draft[] => {
  const whole = parseJson(text)
  if (E.isRight(whole)) return draftsOf(whole.right, 1, notes)
  const lines = [...linesOf(text)].map(({ line, text: json }) => ({ line, ...valuesOf(json) }))
  const isLines = lines.some(({ values }) => values.some((value) => isFields(value) && hasMessages(value)))
  if (!isLines) {
    notes.bad(badLineOf(text, whole.left), `not JSON (${whole.left})`)
    return []
  }
  return lines.flatMap(({ line, values, problem }) => {
    if (problem !== undefined) notes.bad(line, `not JSON (${problem})`)
    return values.flatMap((value) => draftsOf(value, line, notes))
  })
}

const messagesIn = (owner: { readonly [field: string]: unknown }): unknown =>
  owner['messages'] ?? owner['traj']
const hasMessages = (owner: { readonly [field: string]: unknown }): boolean =>
  Array.isArray(messagesIn(owner))

const draftsOf = (document: unknown, line: number, notes: Notes): readonly Draft[] => {
  const owners = Array.isArray(document) ? document : [document]
  const found = owners.filter(isFields).filter(hasMessages)
  if (found.length > 0)
    return found.map((owner) => ({ owner, messages: entriesOfList(messagesIn(owner), line, notes) }))
  return Array.isArray(document) ? [{ owner: {}, messages: entriesOfList(document, line, notes) }] : []
}
