import * as E from 'fp-ts/lib/Either.js'
import { invalidInput } from '../events/errors.ts'
import { orThrow, run } from '../result/fallible.ts'
import { pause } from '../result/timers.ts'
import { toError } from '../result/typed-error.ts'
import { pacer } from '../store/breath.ts'
import { checkOptions, kinds } from '../store/options.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import { badLine } from './formats/errors.ts'
import { sessionReader, type SessionOptions } from './formats/parse-session.ts'
import type { ConversationPlan } from './formats/plan.ts'
import { createImportNotes } from './formats/source.ts'
import { splitLines } from './formats/split-lines.ts'
import { importPlan, type ImportOptions, importSession } from './import.ts'
import type { ImportResult } from './import-result.ts'
import { createImportMemories } from './prepare-events.ts'
import { readFileBytes } from './read-session.ts'
import { fileShelf } from './shelf.ts'

/** A session file that its program may still be writing. */
export interface GrowingSession extends SessionOptions {
  /** Returns the bytes of the file from an offset on, up to its present end. */
  readonly bytes: (from: number) => AsyncIterable<Uint8Array>
}

export interface FollowSessionOptions extends Pick<ImportOptions, 'archive'> {
  /** Time between two looks at the file, in milliseconds. Default 500. */
  readonly every?: number | undefined
  /** Ends the import. */
  readonly signal?: AbortSignal | undefined
}

/** Number of bytes before the end of what was read that are read again, to notice that the file was rewritten. */
const overlap = 4_096
/** Time without new lines after which the last message counts as complete, in milliseconds. */
const quiet = 2_000

/**
 * Imports a session file and then what its program adds to it, until the signal aborts. Only new bytes are read; a file that was
 * rewritten is read from the beginning. The last reply is imported once another entry follows it, or nothing for two seconds, because
 * programs write replies in parts. At the end, the file is imported once more as a whole, which also archives it. Yields the result of
 * each import that added something. Throws what `importSession` fails with.
 */
export async function* followSession(
  store: LayeredStore,
  session: GrowingSession,
  options: FollowSessionOptions = {},
): AsyncGenerator<ImportResult, void> {
  const {
    every = 500,
    signal,
    archive,
  } = await orThrow(
    checkOptions<FollowSessionOptions>(options, {
      every: kinds.count,
      signal: kinds.signal,
      archive: kinds.flag,
    }),
  )
  if (typeof session?.bytes !== 'function' || typeof session.file !== 'string')
    throw toError(
      invalidInput('session', 'must be { bytes, file }: a function that opens the file, and its name'),
    )
  const { bytes, ...rest } = session
  let growing = openGrowing(store, session)
  try {
    for (let grown = performance.now(); !signal?.aborted; await pause(every, signal)) {
      const read = await growing.readMore()
      if (read === 'rewritten') {
        growing.close()
        growing = openGrowing(store, session)
        await growing.readMore()
      }
      if (read !== 'nothing') grown = performance.now()
      const imported = await growing.importMore(performance.now() - grown >= quiet)
      if (imported?.conversations.some(({ added }) => added > 0)) yield imported
    }
  } finally {
    growing.close()
  }
  const whole = { ...rest, bytes: () => bytes(0) }
  const imported = await orThrow(run(importSession(store, whole, { archive })))
  if (imported.conversations.some(({ added }) => added > 0)) yield imported
}

/** A file that is being read, and the conversations that were made of it. */
const openGrowing = (store: LayeredStore, { bytes, ...session }: GrowingSession) => {
  const { file, skipBadLines } = session
  const shelf = fileShelf()
  const notes = createImportNotes()
  const reader = sessionReader(session, notes, shelf)
  const lines = splitLines(reader, notes)
  const memories = createImportMemories()
  let at = 0
  let tail = Buffer.alloc(0)
  /** True if everything that was read is imported. */
  let isImported = true

  const readMore = async (): Promise<'nothing' | 'more' | 'rewritten'> => {
    const pace = pacer()
    let known = tail
    let isMore = false
    for await (const piece of readFileBytes(file, bytes(at - tail.length))) {
      const [again, more] = [piece.subarray(0, known.length), piece.subarray(known.length)]
      if (!known.subarray(0, again.length).equals(again)) return 'rewritten'
      known = known.subarray(again.length)
      if (more.length === 0) continue
      lines.push(more)
      at += more.length
      tail = Buffer.concat([tail, more.subarray(-overlap)]).subarray(-overlap)
      isMore = true
      const paused = pace(more.length)
      if (paused) await paused
    }
    if (known.length > 0) return 'rewritten'
    if (isMore) isImported = false
    return isMore ? 'more' : 'nothing'
  }

  const importMore = async (isQuiet: boolean): Promise<ImportResult | undefined> => {
    if (isImported) return undefined
    const found = reader.soFar()
    if (!found) return undefined
    const { format, conversations } = await orThrow(found)
    const report = notes.report()
    const [bad] = report.badLines
    if (bad && skipBadLines !== true) throw toError(badLine(file, bad.line, bad.problem))
    const plans = conversations.map((plan) => settledOf(plan, isQuiet))
    const begun = plans.filter(({ actions }) => actions.length > 0)
    isImported = isQuiet
    if (begun.length === 0) return undefined
    const plan = { format, conversations: begun, report }
    const imported = await run(
      importPlan(store, file, plan, { shelf, progress: undefined, copy: undefined, memories }),
    )
    if (E.isRight(imported)) return imported.right
    if (isNoMessageYet(imported.left)) return undefined
    throw toError(imported.left)
  }
  return { readMore, importMore, close: shelf.close }
}

const isNoMessageYet = (error: object): boolean => 'isWithoutMessages' in error

/** Leaves out what more lines may change: the last reply, unless nothing was added for a while, or what the reader names. */
const settledOf = (plan: ConversationPlan, isQuiet: boolean): ConversationPlan => {
  const { actions } = plan
  const last = actions.at(-1)
  const isOpen = !isQuiet && last?.type === 'message' && last.message.role === 'assistant'
  return { ...plan, actions: actions.slice(0, plan.settled ?? actions.length - (isOpen ? 1 : 0)) }
}
