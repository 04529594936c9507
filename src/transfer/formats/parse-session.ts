import * as E from 'fp-ts/lib/Either.js'
import { check } from '../../events/check.ts'
import { invalidInput } from '../../events/errors.ts'
import { conversationIdSchema } from '../../events/ids.ts'
import { textOf } from './documents.ts'
import { readers } from './built-in.ts'
import { badLine, emptyFile, type ImportError } from './errors.ts'
import { palimpsest } from './palimpsest.ts'
import type {
  ConversationPlan,
  Format,
  ImportPlan,
  PlannedNote,
  ImportAction,
  StoredConversation,
  StoredImport,
} from './plan.ts'
import { recogniseLine, recogniseText } from './recognise.ts'
import { formatNames, ownFormats, type SessionFormat } from './registry.ts'
import { memoryShelf, type Shelf } from './shelf.ts'
import {
  idOf,
  type FileLine,
  type LineReader,
  linesOf,
  type ImportNotes,
  createImportNotes,
} from './source.ts'

/** Options for reading a session file. */
export interface SessionOptions {
  /** Name of the file, used in messages. */
  readonly file: string
  /** Format of the file. Default: detected from its content. */
  readonly format?: Format | undefined
  /**
   * Id of the conversation. The second and later conversations of a file get `-2`, `-3` and so on appended. Default: the id in the
   * file, or one derived from the content.
   */
  readonly id?: string | undefined
  /** True to skip unreadable lines and list them in the report. Default false: the first unreadable line is an error. */
  readonly skipBadLines?: boolean | undefined
}

export interface SessionFile extends SessionOptions {
  readonly text: string
}

type Result = E.Either<ImportError, ImportPlan | StoredImport>

/**
 * Reads a session written by another program or by this library. Returns the actions that import the session, and a report on every
 * entry. Writes nothing. Errors: `UnknownFormat`, `UnsupportedFormat`; `BadLine` for a torn or malformed line; `InvalidInput` for an
 * invalid `id`, or an `id` for a file with several stored conversations, which keep their own ids.
 */
export const parseSession = ({ text, ...options }: SessionFile): Result => {
  const reader = sessionReader(options, createImportNotes())
  for (const line of linesOf(text)) reader.read(line)
  return reader.finish()
}

/** A reader of a session file. */
export interface SessionReader extends Required<Pick<LineReader<Result>, 'read' | 'finish' | 'mayGoOn'>> {
  /**
   * Returns the conversations so far, without their notes; undefined as long as the format is unknown, and `InvalidInput` if it is
   * understood only as a whole.
   */
  readonly soFar: () => E.Either<ImportError, Omit<ImportPlan, 'report'>> | undefined
}

/**
 * Returns a reader that does the work of `parseSession` line by line. Lines are kept in memory until the format is known. The lines of
 * a JSON document are kept until the end of the file.
 */
export const sessionReader = (
  { file, format, id, skipBadLines = false }: SessionOptions,
  notes: ImportNotes,
  shelf: Shelf = memoryShelf(),
): SessionReader => {
  const checked = id === undefined ? E.right(id) : check(conversationIdSchema, id)
  let failure: ImportError | undefined = E.isLeft(checked)
    ? invalidInput('id', checked.left.message)
    : undefined
  let reader = format && readerOf(format, notes, shelf)
  let held: FileLine[] = []
  let looked = 0
  // True for a document of several lines. It may have one message per line, and a message reveals less about the format than the whole
  // document.
  let isDocument = false

  const begin = (told: E.Either<ImportError, Format>): void => {
    if (E.isLeft(told)) {
      failure = { ...told.left, message: `${file}: ${told.left.message}` }
      return
    }
    reader = readerOf(told.right, notes, shelf)
    for (const line of held) reader.plan.read(line)
    held = []
  }
  const read = (given: FileLine): void => {
    const line = given.line === 1 ? { ...given, text: given.text.replace(/^\uFEFF/, '') } : given
    if (failure) return
    if (reader) return reader.plan.read(line)
    held.push(line)
    if (line.text.trim() === '' || looked++ >= mostLooked) return
    if (looked === 1) isDocument = /^\s*[[{]\s*$/.test(line.text)
    const own = ownFormats()
      .values()
      .find(({ recognises }) => recognises(line.text))
    const told = own ? E.right(own.name) : isDocument ? undefined : recogniseLine(line.text)
    if (told) begin(told)
  }
  const finish = (): Result => {
    if (!reader && !failure) begin(recogniseText(textOf(held)))
    if (failure || !reader) return E.left(failure ?? emptyFile)
    const plan = reader.finish(id)
    const report = notes.report()
    const [bad] = report.badLines
    // A document that cannot be parsed has nothing after the bad line to continue with.
    const isUnreadable = E.isRight(plan) && plan.right.conversations.length === 0
    if (bad && (!skipBadLines || isUnreadable)) return E.left(badLine(file, bad.line, bad.problem))
    return E.map((found: Unreported): ImportPlan | StoredImport => ({ ...found, report }))(plan)
  }
  return {
    read,
    soFar: () => (failure ? E.left(failure) : reader?.soFar(id)),
    finish,
    mayGoOn: () => reader?.plan.mayGoOn?.() ?? false,
  }
}

/** Maximum number of lines to examine in order to detect the format, because not every line reveals it. */
const mostLooked = 50

type Unreported = Omit<ImportPlan, 'report'> | Omit<StoredImport, 'report'>
interface FormatReader {
  readonly plan: Pick<LineReader<unknown>, 'read' | 'mayGoOn'>
  readonly soFar: (id: string | undefined) => ReturnType<SessionReader['soFar']>
  readonly finish: (id: string | undefined) => E.Either<ImportError, Unreported>
}

const readerOf = (format: Format, notes: ImportNotes, shelf: Shelf): FormatReader => {
  const own = ownFormats().get(format)
  if (format === 'palimpsest') {
    const stored = palimpsest.read(notes, shelf)
    return { plan: stored, soFar: () => onlyWhole(format), finish: (id) => storedUnder(id, stored.finish()) }
  }
  const begin = own ? () => ownReader(own, notes) : readers.get(format)
  if (!begin) {
    const unknown = invalidInput('format', `must be one of ${formatNames().join(', ')}`)
    return { plan: { read: () => undefined }, soFar: () => E.left(unknown), finish: () => E.left(unknown) }
  }
  const plan = begin(notes, shelf)
  const finish: FormatReader['finish'] = (id) => {
    const plans = plan.finish()
    if (!plans.every(hasActions))
      return E.left(
        invalidInput('format', `must return conversations as { id, actions }, but ${format} does not`),
      )
    return E.right({ format, conversations: plansUnder(id, plans) })
  }
  const soFar: FormatReader['soFar'] = (id) => {
    const plans = plan.soFar?.()
    return plans ? E.right({ format, conversations: plansUnder(id, plans) }) : onlyWhole(format)
  }
  return { plan, soFar, finish }
}

const onlyWhole = (format: Format): E.Either<ImportError, never> =>
  E.left(
    invalidInput(
      'format',
      `${format} cannot be followed, because a file is read as a whole: import it again once it has grown`,
    ),
  )

/** Reports whether a conversation has a list of actions. A registered format may return anything. */
const hasActions = ({ actions }: Partial<ConversationPlan>): boolean =>
  typeof actions?.[Symbol.iterator] === 'function'

/** Returns a reader of a file in a registered format. The whole file is held in memory. */
const ownReader = ({ parse }: SessionFormat, notes: ImportNotes): LineReader<readonly ConversationPlan[]> => {
  const held: FileLine[] = []
  return {
    read: (line) => held.push(line),
    finish: () => parse(textOf(held), notes).map((plan) => ({ ...plan, id: idOf(plan.id) })),
  }
}

const storedUnder = (
  id: string | undefined,
  stored: readonly StoredConversation[],
): E.Either<ImportError, Unreported> => {
  if (id !== undefined && stored.length > 1)
    return E.left(
      invalidInput(
        'id',
        `the file contains ${stored.length} conversations, which keep their own ids: omit this option`,
      ),
    )
  const conversations = id === undefined ? stored : stored.map((conversation) => ({ ...conversation, id }))
  return E.right({ format: 'palimpsest', conversations })
}

const plansUnder = (
  id: string | undefined,
  plans: readonly ConversationPlan[],
): readonly ConversationPlan[] => {
  const taken = new Map<string, number>()
  const renamed = new Map<string, string>()
  // A plan without messages, which only sets a model, is not a conversation.
  return plans
    .filter(({ actions }) => hasSaid(actions))
    .map((plan) => {
      const wished = id ?? plan.id
      const count = (taken.get(wished) ?? 0) + 1
      taken.set(wished, count)
      const given = count === 1 ? wished : `${wished.slice(0, 190)}-${count}`
      if (!renamed.has(plan.id)) renamed.set(plan.id, given)
      return { ...plan, id: given }
    })
    .map(({ notes, ...plan }) => ({
      ...plan,
      ...(notes && { notes: Array.from(notes, linkedUnder(renamed)) }),
    }))
}

/** Returns a function that gives the target of a link its new name if the target is a conversation in the same file. */
const linkedUnder =
  (renamed: ReadonlyMap<string, string>) =>
  (note: PlannedNote): PlannedNote => {
    const conversation = note.type === 'Linked' ? renamed.get(note.data.conversation ?? '') : undefined
    return note.type === 'Linked' && conversation !== undefined
      ? { ...note, data: { ...note.data, conversation } }
      : note
  }

const hasSaid = (actions: Iterable<ImportAction>): boolean => {
  for (const { type } of actions) if (type === 'message' || type === 'condense') return true
  return false
}
