import type { Note } from '../projections/notes.ts'
import type { Log } from '../projections/path.ts'
import { probabilities, type Verdict } from './bisection.ts'
import {
  describeBisection,
  type BisectionState,
  type BisectedChat,
  candidatesOf,
  continueBisection,
  standOf,
} from './bisect.ts'
import { logOf } from './log.ts'
import { suspectsBetween } from './suspects.ts'
import {
  type BisectionQuestion,
  beginningNotes,
  searchVerdicts,
  reliabilityIn,
  verdictsIn,
} from './verdicts.ts'

// Bisections by the id of their first note: reading them without writing anything, and recording the answers of people.

/** State of a bisection, with its candidates and their probabilities. */
export interface BisectionView extends BisectionState {
  /** Time at which the bisection began, and the actor who began it. */
  readonly begun: string
  readonly by: Note['metadata']['actor']
  /** Candidates for the first bad position in ascending order, and their probabilities, which add up to 1. */
  readonly candidates: readonly number[]
  readonly probabilities: readonly number[]
}

/** Returns the view of a bisection; undefined if its two ends are not on the same branch. */
const viewOf = (
  conversation: string,
  log: Log,
  notes: readonly Note[],
  note: Note,
): BisectionView | undefined => {
  const { good, bad, question } = note.data as BisectionQuestion
  const asked: BisectionQuestion = { good, bad, question }
  const verdicts = verdictsIn(notes, note.id)
  const between = bad < log.length ? suspectsBetween(log, good, bad) : undefined
  if (!between || between.candidates.length === 0) return undefined
  const stand = standOf(between, asked, reliabilityIn(note), verdicts)
  return {
    ...describeBisection(conversation, log, { id: note.id, ...asked }, verdicts, stand),
    begun: note.metadata.time,
    by: note.metadata.actor,
    candidates: between.candidates,
    probabilities: probabilities(stand.search, searchVerdicts(verdicts)),
  }
}

/** Returns at most `most` of the newest bisections of a conversation, newest first. Throws a `ReadError`. */
export const bisectionsOf = async (chat: BisectedChat, most: number): Promise<readonly BisectionView[]> => {
  const notes = await chat.notes()
  const begun = beginningNotes(notes).slice(-most).toReversed()
  if (begun.length === 0) return []
  const log = await logOf(chat)
  return begun.flatMap((note) => viewOf(chat.id, log, notes, note) ?? [])
}

/** Returns the bisection with this id; undefined if it does not exist. Throws a `ReadError`. */
export const bisectionOf = async (chat: BisectedChat, id: string): Promise<BisectionView | undefined> => {
  const notes = await chat.notes()
  const note = beginningNotes(notes).find((one) => one.id === id)
  return note && viewOf(chat.id, await logOf(chat), notes, note)
}

export interface VerdictInput {
  readonly position: number
  readonly verdict: Verdict
}

/**
 * Records an answer for a position. A repeated answer is recorded once, and of two concurrent answers only the first is accepted.
 * `isTaken` is false if the answer was not accepted, for example because the position is not in question.
 *
 * @param view the bisection right before the answer
 */
export const answerQuestion = async (
  chat: BisectedChat,
  view: BisectionView,
  { position, verdict }: VerdictInput,
): Promise<{ readonly view: BisectionView; readonly isTaken: boolean }> => {
  const { id, good, bad, question, reliability, result, verdicts } = view
  const last = verdicts.findLast((one) => !one.isMeasure && one.position === position)
  if (result.type !== 'ask' || result.position !== position)
    return { view, isTaken: last?.verdict === verdict }
  const [log, notes] = [await logOf(chat), await chat.notes()]
  const asked = { good, bad, question }
  let next = verdicts.length
  const note: BisectedChat['note'] = (given, envelope) =>
    chat.note(given, { ...envelope, commandId: `${id} verdict ${next++}` })
  await continueBisection(
    { id: chat.id, note },
    { log, notes, asked, between: candidatesOf(log, asked), id, begin: () => Promise.resolve(id) },
    { mark: verdict, reliability },
  )
  const now = (await bisectionOf(chat, id)) ?? view
  const mine = now.verdicts[verdicts.length]
  return { view: now, isTaken: mine?.position === position && mine.verdict === verdict }
}
