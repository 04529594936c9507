import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { check } from '../events/check.ts'
import { invalidInput } from '../events/errors.ts'
import type { EventType } from '../events/events.ts'
import type { Note } from '../projections/notes.ts'
import type { Log } from '../projections/path.ts'
import { toError } from '../result/typed.ts'
import { type Move, nextMove, probabilities, type Search, type Verdict } from './bisection.ts'
import { digestOfRequest, type Judge, type Judgeable, type JudgeResult, judgeableAt } from './judging.ts'
import { logOf } from './log.ts'
import { suspectsBetween } from './suspects.ts'
import {
  type BisectionQuestion,
  bisectionIn,
  bisectionKind,
  givenIn,
  type KeptVerdict,
  measured,
  measures,
  reliabilityIn,
  verdictKind,
  verdictsIn,
} from './verdicts.ts'

/** What to look for. */
export interface BisectOptions {
  /** A position at which all was well (-1: before the first event), and a later one at which it was not. */
  readonly good: number
  readonly bad: number
  /** What is asked about a position. The same question about the same ends continues where it was left. Default `by hand`. */
  readonly question?: string | undefined
  /** Answers it. Without a judge, `next` says what to look at, and `mark` is the answer. */
  readonly judge?: Judge | undefined
  /** The answer for the position that was asked for last. */
  readonly mark?: Verdict | undefined
  /** How often a verdict is right: above 0.5, at most 1. `measure`: find out by asking five times at each end. Default: as begun, else 1. */
  readonly reliability?: number | 'measure' | undefined
  /** Ask `judge` about the two ends first, and search only if it says `good` of the one and `bad` of the other. Default false. */
  readonly checkEnds?: boolean | undefined
  /** Begin again, whatever was said before. Default false. */
  readonly again?: boolean | undefined
  /** Is told how many verdicts were kept before, and since when (ISO 8601, UTC), if there are any. */
  readonly onKept?: ((verdicts: number, since: string) => void) | undefined
  /** Is told each verdict as soon as it is kept, after those that were kept before. */
  readonly onVerdict?: ((verdict: KeptVerdict) => void) | undefined
}

/** Where a bisection stands. */
export interface BisectionState {
  readonly conversation: string
  /** Id of the note that began it. */
  readonly id: string
  readonly good: number
  readonly bad: number
  readonly question: string
  readonly reliability: number
  /** `found`: the first bad position; `ask`: somebody has to look at that one; `unclear`: it is between these. */
  readonly result:
    | Move
    | { readonly type: 'unclear'; readonly first: number; readonly last: number; readonly why: 'alike' }
  /** Of the event that was found. */
  readonly event?: EventType
  readonly verdicts: readonly KeptVerdict[]
  /** The most likely positions, the likeliest first. */
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
  judge: z.custom((value) => typeof value === 'function', { error: 'is a function' }).optional(),
  mark: z.enum(['good', 'bad', 'skip']).optional(),
  reliability: z.union([z.literal('measure'), z.number().gt(0.5).max(1)]).optional(),
  checkEnds: z.boolean().optional(),
  again: z.boolean().optional(),
  onKept: z.custom((value) => typeof value === 'function', { error: 'is a function' }).optional(),
  onVerdict: z.custom((value) => typeof value === 'function', { error: 'is a function' }).optional(),
})

/** What a bisection needs of a conversation. */
export type BisectedChat = Pick<Conversation, 'id' | 'events' | 'notes' | 'note'>

/**
 * Finds the position since which something is wrong, by asking about as few positions as possible. Every verdict is kept with its evidence
 * as a note, so that a search which was interrupted continues. docs/investigate.md.
 *
 * Rejects with `InvalidInput` (also where `good` is not before `bad`), `EndsAlike`, `ConversationNotFound` or another `NoteError`, and
 * whatever `judge` throws.
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
    throw toError(invalidInput('mark', 'answers nothing: ask first which position to look at'))
  const reliability = options.reliability ?? (begun ? reliabilityIn(begun) : 1)
  // Of two who begin the same at the same time, both get the one bisection.
  const once = again ? {} : { commandId: `bisection ${digestOfAsked(asked)}` }
  const { id } = begun ?? (await chat.note({ kind: bisectionKind, data: { ...asked, reliability } }, once))
  return continued(chat, { log, between, asked: { id, ...asked }, notes }, { ...options, reliability })
}

const digestOfAsked = ({ good, bad, question }: BisectionQuestion): string =>
  hash('sha256', JSON.stringify([good, bad, question]))

/** The positions that it may be, and how suspicious each is. Throws `InvalidInput` if there is none. */
export const candidatesOf = (log: Log, { good, bad }: BisectionQuestion): Omit<Search, 'reliability'> => {
  if (bad >= log.length) throw toError(invalidInput('bad', `is after the last position, ${log.length - 1}`))
  const between = suspectsBetween(log, good, bad)
  if (between.candidates.length === 0)
    throw toError(invalidInput('good', 'is not before the bad position: `log` shows both'))
  return between
}

/** A bisection as it was begun. */
export interface StartedBisection {
  readonly log: Log
  readonly between: Omit<Search, 'reliability'>
  readonly asked: BisectionQuestion & { readonly id: string }
  readonly notes: readonly Note[]
}

/** Continues a bisection as far as there is somebody to ask. */
export const continued = async (
  chat: Pick<BisectedChat, 'id' | 'note'>,
  { log, between, asked, notes }: StartedBisection,
  {
    judge,
    mark,
    reliability = 1,
    checkEnds = false,
    onKept = () => {},
    onVerdict = () => {},
  }: Pick<BisectOptions, 'judge' | 'mark' | 'reliability' | 'checkEnds' | 'onKept' | 'onVerdict'>,
): Promise<BisectionState> => {
  const { id, good, bad } = asked
  const kept = [...verdictsIn(notes, id)]
  const since = notes.find((note) => verdictsIn([note], id).length > 0)?.metadata.time
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
    await chat.note({ kind: verdictKind, data: { bisection: id, ...said } })
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
    // Nobody to ask.
    if (kept.length === before) break
    stand = look()
  }
  return bisected(chat.id, log, asked, kept, stand)
}

/** Asks the judge about the ends that it has not told apart yet. Throws `EndsAlike` if it is anything but good of one and bad of the other. */
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

/** A judge does not say of the two ends what is known of them, so what it says in between means nothing. */
export interface EndsAlike {
  readonly _tag: 'EndsAlike'
  readonly message: string
  /** What it says of the good one, and of the bad one. */
  readonly verdicts: readonly [good: Verdict, bad: Verdict]
}

const endsAlike = (good: number, bad: number, verdicts: EndsAlike['verdicts']): EndsAlike => ({
  _tag: 'EndsAlike',
  message: `the judge says ${verdicts[0]} of the good end, ${good}, and ${verdicts[1]} of the bad one, ${bad}: correct what is asked, or the ends, and ask again`,
  verdicts,
})

/** A search as its verdicts leave it, and what comes of it or is to be asked next. */
interface Stand {
  readonly search: Search
  readonly result: BisectionState['result']
}

/** Verdicts that are right no more often than this are the same, whatever they are about. */
const alike = 0.6

export const standOf = (
  between: StartedBisection['between'],
  asked: BisectionQuestion,
  reliability: number | 'measure',
  verdicts: readonly KeptVerdict[],
): Stand => {
  const isMeasured = reliability === 'measure'
  const search = { ...between, reliability: isMeasured ? measured(verdicts, asked) : reliability }
  return isMeasured && search.reliability <= alike
    ? { search, result: { type: 'unclear', first: asked.good, last: asked.bad, why: 'alike' } }
    : { search, result: nextMove(search, givenIn(verdicts)) }
}

/** What there is to say of a search. */
export const bisected = (
  conversation: string,
  log: Log,
  asked: BisectionQuestion & { readonly id: string },
  verdicts: readonly KeptVerdict[],
  { search, result }: Stand,
): BisectionState => {
  const typeAt = (position: number): EventType => log[position]?.type ?? 'MessageAppended'
  const likely = probabilities(search, givenIn(verdicts))
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
