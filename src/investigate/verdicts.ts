import { z } from 'zod'
import type { Note } from '../projections/notes.ts'
import type { GivenVerdict, Verdict } from './bisection.ts'

// A bisection is stored as notes of the conversation (ADR 37): one with the question, and one for each verdict with its evidence.

export const bisectionKind = 'palimpsest/bisection'
export const verdictKind = 'palimpsest/verdict'

/** The question of a bisection and its two ends. A bisection with the same values is continued. */
export interface BisectionQuestion {
  readonly good: number
  readonly bad: number
  readonly question: string
}

/** A recorded verdict on one position. */
export interface KeptVerdict extends GivenVerdict {
  /** Evidence for the verdict, as given by the judge: any JSON value. */
  readonly evidence?: unknown
  /** SHA-256 of the request at the position, so that the same request is not judged twice. */
  readonly digest: string
  /** True for a verdict on one of the two ends, given to measure reliability. */
  readonly isMeasure?: true
}

/** Data of a note that begins a bisection. */
export interface BisectionNote extends BisectionQuestion {
  readonly reliability?: number | 'measure'
}

/** Data schema of a note that begins a bisection. Users can write any note, so notes of this kind with other data are ignored. */
const begunSchema = z.looseObject({
  good: z.int().min(-1),
  bad: z.int().min(0),
  question: z.string(),
  reliability: z.union([z.literal('measure'), z.number().gt(0.5).max(1)]).optional(),
})
const verdictSchema = z.looseObject({ position: z.int(), verdict: z.enum(['good', 'bad', 'skip']) })

/** Returns the notes that begin bisections, in order. */
export const beginningNotes = (notes: readonly Note[]): readonly Note[] =>
  notes.filter(({ kind, data }) => kind === bisectionKind && begunSchema.safeParse(data).success)

/** Returns the reliability specified at the start of a bisection. Default 1. */
export const reliabilityIn = ({ data }: Note): number | 'measure' => (data as BisectionNote).reliability ?? 1

/** Returns the newest bisection with the same question and ends; undefined if none exists. */
export const bisectionIn = (notes: readonly Note[], asked: BisectionQuestion): Note | undefined =>
  beginningNotes(notes).findLast(({ data }) => {
    const { good, bad, question } = data as BisectionQuestion
    return good === asked.good && bad === asked.bad && question === asked.question
  })

/** Returns the verdicts of a bisection in the order in which they were given. */
export const verdictsIn = (notes: readonly Note[], bisection: string): readonly KeptVerdict[] =>
  notes.flatMap(({ kind, data }) => {
    const verdict = kind === verdictKind ? (data as KeptVerdict & { readonly bisection: string }) : undefined
    if (verdict?.bisection !== bisection || !verdictSchema.safeParse(verdict).success) return []
    const { bisection: _, ...kept } = verdict
    return [kept]
  })

/** Returns the verdicts of the search itself, excluding verdicts given to measure reliability. */
export const searchVerdicts = (verdicts: readonly KeptVerdict[]): readonly GivenVerdict[] =>
  verdicts.filter(({ isMeasure }) => !isMeasure)

/** Number of verdicts at each end that are used to measure reliability. */
export const measures = 5

/**
 * Estimates the reliability from verdicts on the two ends, for which the right answer is known. The estimate is conservative, because
 * it is based on few verdicts.
 */
export const estimateReliability = (
  verdicts: readonly KeptVerdict[],
  { good, bad }: BisectionQuestion,
): number => {
  const known = verdicts.filter(({ isMeasure, verdict }) => isMeasure && verdict !== 'skip')
  const expected = new Map<number, Verdict>([
    [good, 'good'],
    [bad, 'bad'],
  ])
  const right = known.filter(({ position, verdict }) => expected.get(position) === verdict).length
  return (right + 1) / (known.length + 2)
}
