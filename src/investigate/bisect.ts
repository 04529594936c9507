import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { check } from '../events/check.ts'
import { invalidInput } from '../events/errors.ts'
import type { EventType } from '../events/events.ts'
import type { Note } from '../projections/notes.ts'
import type { Log } from '../projections/path.ts'
import { once } from '../result/once.ts'
import { toError } from '../result/typed-error.ts'
import { type Move, nextMove, probabilities, type Search, type Verdict } from './bisection.ts'
import { digestOfRequest, type Judge, type Judgeable, type JudgeResult, judgeableAt } from './judge.ts'
import { logOf } from './log.ts'
import { suspectsBetween } from './suspects.ts'
import {
  type BisectionQuestion,
  bisectionIn,
  bisectionKind,
  searchVerdicts,
  type KeptVerdict,
  estimateReliability,
  measures,
  reliabilityIn,
  verdictKind,
  verdictsIn,
} from './verdicts.ts'

/** Options for `bisect`. */
export interface BisectOptions {
  /** A position at which the conversation was good (-1: before the first event), and a later position at which it was bad. */
  readonly good: number
  readonly bad: number
  /**
   * Question to be answered for each position. The same question with the same `good` and `bad` continues the earlier search. Default
   * `by hand`.
   */
  readonly question?: string | undefined
  /**
   * Judge that answers the question. Without a judge, `result` names the position to examine, and the next call passes the answer as
   * `mark`.
   */
  readonly judge?: Judge | undefined
  /** Answer for the position that was requested last. */
  readonly mark?: Verdict | undefined
  /**
   * Probability that a verdict is right: above 0.5, at most 1. `measure`: estimated from five questions at each end. Default: the value
   * from the start of the search, or 1.
   */
  readonly reliability?: number | 'measure' | undefined
  /**
   * True to ask `judge` about both ends first, and to search only if it finds the good end `good` and the bad end `bad`. Default false.
   */
  readonly checkEnds?: boolean | undefined
  /** True to start again, ignoring earlier verdicts. Default false. */
  readonly again?: boolean | undefined
  /** Called with the number of earlier verdicts and the time of the first one (ISO 8601, UTC), if a search is continued. */
  readonly onKept?: ((verdicts: number, since: string) => void) | undefined
  /** Called with each earlier verdict, then with each new verdict as soon as it is recorded. */
  readonly onVerdict?: ((verdict: KeptVerdict) => void) | undefined
}

/** State of a bisection. */
export interface BisectionState {
  readonly conversation: string
  /** Id of the note that began the bisection. */
  readonly id: string
  readonly good: number
  readonly bad: number
  readonly question: string
  readonly reliability: number
  /**
   * Result of the search. `found`: the first bad position; `ask`: the position to examine next; `unclear`: the range that contains the
   * first bad position.
   */
  readonly result:
    | Move
    | { readonly type: 'unclear'; readonly first: number; readonly last: number; readonly why: 'alike' }
  /** Type of the event at the first bad position. */
  readonly event?: EventType
  readonly verdicts: readonly KeptVerdict[]
  /** Most likely first bad positions, at most five, most likely first. */
  readonly suspects: readonly {
    readonly position: number
    readonly type: EventType
    readonly probability: number
  }[]
}

const optionsSchema = z.strictObject({
  good: z.int().min(-1),
  bad: z.int().min(0),
  question: z.string().min(1).optional(),
  judge: z.custom((value) => typeof value === 'function', { error: 'must be a function' }).optional(),
  mark: z.enum(['good', 'bad', 'skip']).optional(),
  reliability: z.union([z.literal('measure'), z.number().gt(0.5).max(1)]).optional(),
  checkEnds: z.boolean().optional(),
  again: z.boolean().optional(),
  onKept: z.custom((value) => typeof value === 'function', { error: 'must be a function' }).optional(),
  onVerdict: z.custom((value) => typeof value === 'function', { error: 'must be a function' }).optional(),
})

/** Methods of a conversation that a bisection uses. */
export type BisectedChat = Pick<Conversation, 'id' | 'events' | 'notes' | 'note'>

/**
 * Finds the first bad position with as few questions as possible. Records every verdict with its evidence as a note, so that an
 * interrupted search continues. docs/investigate.md.
 *
 * Rejects with `InvalidInput` (also if `good` is not before `bad`), `EndsAlike`, `ConversationNotFound` or another `NoteError`, and
 * errors thrown by `judge`.
 *
 * @example
 * import { bisect } from 'palimpsest/investigate'
 *
 * const { result } = await bisect(store.conversation('task-42'), {
 *   good: 0,
 *   bad: 4,
 *   question: 'has it lost the file?',
 *   judge: ({ items }) => ({ verdict: items.length > 2 ? 'bad' : 'good' }),
 * })
 * console.log(result)
 */
export const bisect = async (chat: BisectedChat, options: BisectOptions): Promise<BisectionState> => {
  const checked = check(optionsSchema, options)
  if (E.isLeft(checked)) throw toError(checked.left)
  const { good, bad, question = 'by hand', mark, again = false } = options
  const log = await logOf(chat)
  const asked: BisectionQuestion = { good, bad, question }
  const between = candidatesOf(log, asked)
  const notes = await chat.notes()
  const begun = again ? undefined : bisectionIn(notes, asked)
  if (mark && !begun)
    throw toError(
      invalidInput('mark', 'was given, but no question is pending: start the bisection without it first'),
    )
  const reliability = options.reliability ?? (begun ? reliabilityIn(begun) : 1)
  // Two callers that begin the same bisection at the same time get the same note.
  const unique = again ? {} : { commandId: `bisection ${digestOfAsked(asked)}` }
  // Recorded with the first verdict: an attempt that fails before then leaves no note.
  const begin = once(async () => {
    const note = begun ?? (await chat.note({ kind: bisectionKind, data: { ...asked, reliability } }, unique))
    return note.id
  })
  return continueBisection(
    chat,
    { log, between, asked, notes, id: begun?.id, begin },
    { ...options, reliability },
  )
}

const digestOfAsked = ({ good, bad, question }: BisectionQuestion): string =>
  hash('sha256', JSON.stringify([good, bad, question]))

/** Returns the candidate positions and their weights. Throws `InvalidInput` if no candidates exist. */
export const candidatesOf = (log: Log, { good, bad }: BisectionQuestion): Omit<Search, 'reliability'> => {
  if (bad >= log.length) throw toError(invalidInput('bad', `is after the last position, ${log.length - 1}`))
  const between = suspectsBetween(log, good, bad)
  if (between.candidates.length === 0)
    throw toError(invalidInput('good', 'is not before the bad position: `log` shows both'))
  return between
}

export interface StartedBisection {
  readonly log: Log
  readonly between: Omit<Search, 'reliability'>
  readonly asked: BisectionQuestion
  /** Id of the note that began the bisection; undefined if it is not recorded yet. */
  readonly id: string | undefined
  /** Returns the id of that note. The first call records the note if necessary. */
  readonly begin: () => Promise<string>
  readonly notes: readonly Note[]
}

/** Continues a bisection until it has a result, or needs an answer and has no judge. */
export const continueBisection = async (
  chat: Pick<BisectedChat, 'id' | 'note'>,
  { log, between, asked, notes, id, begin }: StartedBisection,
  {
    judge,
    mark,
    reliability = 1,
    checkEnds = false,
    onKept = () => {},
    onVerdict = () => {},
  }: Pick<BisectOptions, 'judge' | 'mark' | 'reliability' | 'checkEnds' | 'onKept' | 'onVerdict'>,
): Promise<BisectionState> => {
  const { good, bad } = asked
  const verdictsOf = (some: readonly Note[]) => (id === undefined ? [] : verdictsIn(some, id))
  const kept = [...verdictsOf(notes)]
  const since = notes.find((note) => verdictsOf([note]).length > 0)?.metadata.time
  if (since !== undefined) onKept(kept.length, since)
  for (const verdict of kept) onVerdict(verdict)
  const keep = async (
    position: number,
    { verdict, evidence }: JudgeResult,
    digest: string,
    isMeasure = false,
  ): Promise<void> => {
    const said: KeptVerdict = {
      position,
      verdict,
      ...(evidence !== undefined && { evidence }),
      digest,
      ...(isMeasure && { isMeasure }),
    }
    await chat.note({ kind: verdictKind, data: { bisection: await begin(), ...said } })
    kept.push(said)
    onVerdict(said)
  }
  if (checkEnds && judge) {
    const ends = await endsJudged(chat.id, log, asked, kept, judge)
    for (const { state, said } of ends) await keep(state.position, said, digestOfRequest(state), true)
  }
  const ask = async (position: number, isMeasure: boolean): Promise<void> => {
    const state = judgeableAt(chat.id, log, position)
    const digest = digestOfRequest(state)
    const same =
      reliability === 1 ? kept.find((one) => one.digest === digest && one.verdict !== 'skip') : undefined
    if (same)
      return keep(position, { verdict: same.verdict, evidence: { sameRequestAs: same.position } }, digest)
    if (judge) await keep(position, await judge(state), digest, isMeasure)
  }
  if (reliability === 'measure' && judge)
    for (const end of [good, bad])
      while (kept.filter((one) => one.isMeasure && one.position === end).length < measures)
        await ask(end, true)
  const look = (): Stand => standOf(between, asked, reliability, kept)
  let stand = look()
  if (mark && stand.result.type === 'ask') {
    const { position } = stand.result
    await keep(position, { verdict: mark }, digestOfRequest(judgeableAt(chat.id, log, position)))
    stand = look()
  }
  while (stand.result.type === 'ask') {
    const before = kept.length
    await ask(stand.result.position, false)
    // There is no judge to ask.
    if (kept.length === before) break
    stand = look()
  }
  return describeBisection(chat.id, log, { id: await begin(), ...asked }, kept, stand)
}

/**
 * Asks the judge about both ends, unless recorded verdicts already distinguish them. Throws `EndsAlike` unless the judge finds the good
 * end good and the bad end bad.
 */
const endsJudged = async (
  id: string,
  log: Log,
  { good, bad }: BisectionQuestion,
  kept: readonly KeptVerdict[],
  judge: Judge,
): Promise<readonly { readonly state: Judgeable; readonly said: JudgeResult }[]> => {
  const isKept = (at: number, said: Verdict): boolean =>
    kept.some(({ position, verdict, isMeasure }) => isMeasure && position === at && verdict === said)
  if (isKept(good, 'good') && isKept(bad, 'bad')) return []
  const states = [judgeableAt(id, log, good), judgeableAt(id, log, bad)]
  const ends = []
  for (const state of states) ends.push({ state, said: await judge(state) })
  const [atGood = 'skip', atBad = 'skip'] = ends.map(({ said }) => said.verdict)
  if (atGood === 'good' && atBad === 'bad') return ends
  throw toError(endsAlike(good, bad, [atGood, atBad]))
}

/** Error: the judge contradicts the known verdicts at the two ends, so its verdicts between them are meaningless. */
export interface EndsAlike {
  readonly _tag: 'EndsAlike'
  readonly message: string
  /** Verdicts of the judge at the good end and at the bad end. */
  readonly verdicts: readonly [good: Verdict, bad: Verdict]
}

const endsAlike = (good: number, bad: number, verdicts: EndsAlike['verdicts']): EndsAlike => ({
  _tag: 'EndsAlike',
  message: `the verdict on the good end, ${good}, is ${verdicts[0]}, and the verdict on the bad end, ${bad}, is ${verdicts[1]}: correct the question or the ends, and try again`,
  verdicts,
})

/** A search with its result or next question. */
interface Stand {
  readonly search: Search
  readonly result: BisectionState['result']
}

/** Measured reliability up to which the verdicts at both ends count as indistinguishable. */
const alike = 0.6

export const standOf = (
  between: StartedBisection['between'],
  asked: BisectionQuestion,
  reliability: number | 'measure',
  verdicts: readonly KeptVerdict[],
): Stand => {
  const isMeasured = reliability === 'measure'
  const search = { ...between, reliability: isMeasured ? estimateReliability(verdicts, asked) : reliability }
  return isMeasured && search.reliability <= alike
    ? { search, result: { type: 'unclear', first: asked.good, last: asked.bad, why: 'alike' } }
    : { search, result: nextMove(search, searchVerdicts(verdicts)) }
}

/** Returns the state of a bisection, including its most likely positions. */
export const describeBisection = (
  conversation: string,
  log: Log,
  asked: BisectionQuestion & { readonly id: string },
  verdicts: readonly KeptVerdict[],
  { search, result }: Stand,
): BisectionState => {
  const typeAt = (position: number): EventType => log[position]?.type ?? 'MessageAppended'
  const likely = probabilities(search, searchVerdicts(verdicts))
  const suspects = search.candidates
    .map((position, index) => ({ position, type: typeAt(position), probability: likely[index] ?? 0 }))
    .toSorted((a, b) => b.probability - a.probability)
    .slice(0, 5)
    .filter(({ probability }) => probability > 1e-6)
  return {
    conversation,
    ...asked,
    reliability: search.reliability,
    result,
    ...(result.type === 'found' && { event: typeAt(result.position) }),
    verdicts,
    suspects,
  }
}
