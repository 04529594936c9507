import { z } from 'zod'
import type { Note } from '../projections/notes.ts'
import type { GivenVerdict, Verdict } from './bisection.ts'

// A bisection is kept beside the conversation, as notes (ADR 37): what is asked in one, each verdict with its evidence in another.

export const bisectionKind = 'palimpsest/bisection'
export const verdictKind = 'palimpsest/verdict'

/** What a bisection asks. The same question about the same ends continues it. */
export interface BisectionQuestion {
  readonly good: number
  readonly bad: number
  readonly question: string
}

/** What was said of one position. */
export interface KeptVerdict extends GivenVerdict {
  /** What it is based on. */
  readonly evidence?: unknown
  /** SHA-256 of the request there: the same request needs no second look. */
  readonly digest: string
  /** Said of an end, to find out how often verdicts are right. */
  readonly isMeasure?: true
}

/** What a note of a bisection holds. */
export interface BisectionNote extends BisectionQuestion {
  readonly reliability?: number | 'measure'
}

/** Anybody may write a note of any kind: others are left alone. */
const begunSchema = z.looseObject({
  good: z.int().min(-1),
  bad: z.int().min(0),
  question: z.string(),
  reliability: z.union([z.literal('measure'), z.number().gt(0.5).max(1)]).optional(),
})
const verdictSchema = z.looseObject({ position: z.int(), verdict: z.enum(['good', 'bad', 'skip']) })

/** The bisections that were begun, in order. */
export const begunIn = (notes: readonly Note[]): readonly Note[] =>
  notes.filter(({ kind, data }) => kind === bisectionKind && begunSchema.safeParse(data).success)

/** How often its verdicts are right, as it was begun. */
export const reliabilityIn = ({ data }: Note): number | 'measure' => (data as BisectionNote).reliability ?? 1

/** The newest bisection that asks this, if there is one. */
export const bisectionIn = (notes: readonly Note[], asked: BisectionQuestion): Note | undefined =>
  begunIn(notes).findLast(({ data }) => {
    const { good, bad, question } = data as BisectionQuestion
    return good === asked.good && bad === asked.bad && question === asked.question
  })

/** The verdicts of a bisection, in the order in which they were given. */
export const verdictsIn = (notes: readonly Note[], bisection: string): readonly KeptVerdict[] =>
  notes.flatMap(({ kind, data }) => {
    const verdict = kind === verdictKind ? (data as KeptVerdict & { readonly bisection: string }) : undefined
    if (verdict?.bisection !== bisection || !verdictSchema.safeParse(verdict).success) return []
    const { bisection: _, ...kept } = verdict
    return [kept]
  })

/** Those that are about the search, and not about how often verdicts are right. */
export const givenIn = (verdicts: readonly KeptVerdict[]): readonly GivenVerdict[] =>
  verdicts.filter(({ isMeasure }) => !isMeasure)

/** How often verdicts at each end are asked for, to find out how often they are right. */
export const measures = 5

/** How often verdicts are right, by those given about the ends, whose answer is known: cautiously, as they are few. */
export const measured = (verdicts: readonly KeptVerdict[], { good, bad }: BisectionQuestion): number => {
  const known = verdicts.filter(({ isMeasure, verdict }) => isMeasure && verdict !== 'skip')
  const expected = new Map<number, Verdict>([
    [good, 'good'],
    [bad, 'bad'],
  ])
  const right = known.filter(({ position, verdict }) => expected.get(position) === verdict).length
  return (right + 1) / (known.length + 2)
}
