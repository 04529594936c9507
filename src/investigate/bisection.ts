import { memo } from '../projections/memo.ts'

/** Verdict on the conversation as of a position. */
export type Verdict = 'good' | 'bad' | 'skip'
export interface GivenVerdict {
  readonly position: number
  readonly verdict: Verdict
}

/**
 * A search for the first bad position among the candidates. The last candidate is known to be bad, and everything before the first one
 * is known to be good.
 */
export interface Search {
  /** Candidate positions in ascending order, at least one. */
  readonly candidates: readonly number[]
  /** Prior weights of the candidates, each above 0. */
  readonly weights: readonly number[]
  /** Probability that a verdict is right: above 0.5, at most 1. With 1, verdicts are always right. */
  readonly reliability: number
}

/** The next position to ask about. */
export interface AskAt {
  readonly type: 'ask'
  readonly position: number
}
/** The first bad position, with its probability. */
export interface FoundAt {
  readonly type: 'found'
  readonly position: number
  readonly probability: number
}
/** A range of candidates, from `first` through `last`, that skipped positions or contradictory verdicts leave open. */
export interface UnclearBetween {
  readonly type: 'unclear'
  readonly first: number
  readonly last: number
  readonly why: 'skipped' | 'contradicting'
}
/** The next move of a search: a question or a result. */
export type Move = AskAt | FoundAt | UnclearBetween

/** Probability at which a search ends with a result. */
const enough = 0.95
/**
 * Cost of asking about the same position again, as a distance from the median. Between two equally suitable positions, the one asked
 * about less often is preferred. The cost stops rising after `mostAgain` repetitions; otherwise a search that needs many verdicts would
 * ask about uninformative positions.
 */
const again = 0.002
const mostAgain = 10

/**
 * Decides the next move of a search from its verdicts alone. With a reliability of 1 it asks at most ⌈log₂ n⌉ + 1 questions and uses
 * the spare question to favor likely positions. With a lower reliability it asks at the median of the probabilities until one candidate
 * reaches 0.95.
 */
export const nextMove = (search: Search, given: readonly GivenVerdict[]): Move =>
  search.reliability === 1 ? exactMove(search, given) : likelyMove(search, given)

const exactMove = ({ candidates, weights }: Search, given: readonly GivenVerdict[]): Move => {
  const said = given.filter(({ verdict }) => verdict !== 'skip')
  const bad = said.filter(({ verdict }) => verdict === 'bad').map(({ position }) => position)
  const good = said.filter(({ verdict }) => verdict === 'good').map(({ position }) => position)
  const from = candidates.findLastIndex((position) => good.some((known) => known >= position)) + 1
  const to = Math.min(
    ...bad.map((known) => candidates.findLastIndex((position) => position <= known)),
    candidates.length - 1,
  )
  const at = (index: number): number => candidates[index] ?? 0
  if (from > to) return { type: 'unclear', first: at(to), last: at(from - 1), why: 'contradicting' }
  if (from === to) return { type: 'found', position: at(from), probability: 1 }
  const skipped = skippedIn(given)
  const open = indexes(from, to).filter((index) => !skipped.has(at(index)))
  // With either answer, the remaining questions must be enough to find the first bad position.
  const most = 2 ** (Math.ceil(Math.log2(candidates.length)) - said.length)
  const allowed = open.filter((index) => index - from + 1 <= most && to - index <= most)
  const middle = closest(allowed.length > 0 ? allowed : open, halving(weights, from, to))
  return middle === undefined
    ? { type: 'unclear', first: at(from), last: at(to), why: 'skipped' }
    : { type: 'ask', position: at(middle) }
}

const skippedIn = (given: readonly GivenVerdict[]): ReadonlySet<number> =>
  new Set(given.flatMap(({ position, verdict }) => (verdict === 'skip' ? [position] : [])))

const indexes = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)

/** Returns the distance of each index from the median weight of a range, from 0 to 0.5. */
const halving = (weights: readonly number[], from: number, to: number): readonly number[] => {
  const total = sum(weights.slice(from, to + 1))
  let before = 0
  return weights.map((weight, index) => {
    if (index >= from && index <= to) before += weight
    return Math.abs(before / total - 0.5)
  })
}

const closest = (open: readonly number[], distances: readonly number[]): number | undefined => {
  let [best] = open
  for (const index of open)
    if (best !== undefined && (distances[index] ?? 1) < (distances[best] ?? 1)) best = index
  return best
}

const logsOf = memo((weights: readonly number[]) => weights.map((weight) => Math.log(weight)))

/** Returns the probability that each candidate is the first bad position, given the verdicts. The probabilities add up to 1. */
export const probabilities = (
  { candidates, weights, reliability }: Search,
  given: readonly GivenVerdict[],
): readonly number[] => {
  const [right, wrong] = [Math.log(reliability), Math.log(Math.max(1 - reliability, 1e-12))]
  // A verdict adds one log-likelihood to the candidates up to its position and another to later ones. Summed from last to first.
  const upTo = new Map<number, number>()
  let after = 0
  for (const { position, verdict } of given) {
    if (verdict === 'skip') continue
    const step = verdict === 'bad' ? right - wrong : wrong - right
    upTo.set(position, (upTo.get(position) ?? 0) + step)
    after += verdict === 'bad' ? wrong : right
  }
  const prior = logsOf(weights)
  const logs: number[] = []
  for (let index = candidates.length - 1; index >= 0; index--) {
    after += upTo.get(candidates[index] ?? 0) ?? 0
    logs[index] = after + (prior[index] ?? 0)
  }
  const highest = largest(logs)
  const scaled = logs.map((log) => Math.exp(log - highest))
  const total = sum(scaled)
  return scaled.map((one) => one / total)
}

const likelyMove = (search: Search, given: readonly GivenVerdict[]): Move => {
  const { candidates, reliability } = search
  const likely = probabilities(search, given)
  const best = likely.indexOf(largest(likely))
  const position = candidates[best] ?? 0
  const probability = likely[best] ?? 0
  if (probability >= enough)
    return isPlausible(given, position, reliability)
      ? { type: 'found', position, probability }
      : unclearAmong(search, given)
  const middle = nearestMiddle(search, likely, given)
  const isEndless = given.length > 60 + (4 * Math.log2(20 * candidates.length)) / bitsOf(reliability)
  if (middle === undefined) return { type: 'unclear', ...rangeOf(search, likely), why: 'skipped' }
  if (isEndless) return unclearAmong(search, given)
  return { type: 'ask', position: candidates[middle] ?? 0 }
}

/**
 * Returns the maximum information in a verdict, in bits: the capacity of a channel with this error rate. A search needs log₂ n bits,
 * plus a few for certainty.
 */
const bitsOf = (reliability: number): number =>
  1 + reliability * Math.log2(reliability) + (1 - reliability) * Math.log2(1 - reliability)

/**
 * Returns the index of the candidate nearest to the median of the probabilities, preferring positions asked about less often. Returns
 * undefined if all candidates were skipped.
 */
const nearestMiddle = (
  { candidates }: Search,
  likely: readonly number[],
  given: readonly GivenVerdict[],
): number | undefined => {
  const skipped = skippedIn(given)
  const asked = new Map<number, number>()
  for (const { position } of given) asked.set(position, (asked.get(position) ?? 0) + 1)
  let [before, nearest] = [0, Infinity]
  let middle: number | undefined
  for (const [index, position] of candidates.entries()) {
    before += likely[index] ?? 0
    const distance = Math.abs(before - 0.5) + again * Math.min(mostAgain, asked.get(position) ?? 0)
    if (distance >= nearest || skipped.has(position)) continue
    ;[nearest, middle] = [distance, index]
  }
  return middle
}

/** Returns the first and last candidates that are not ruled out. */
const rangeOf = (
  { candidates }: Search,
  likely: readonly number[],
): { readonly first: number; readonly last: number } => {
  const isLeft = (probability: number): boolean => probability > (1 - enough) / candidates.length
  const first = candidates[likely.findIndex(isLeft)] ?? 0
  return { first, last: candidates[likely.findLastIndex(isLeft)] ?? first }
}

/** Reports whether the number of verdicts that contradict a result can be explained by chance. */
const isPlausible = (given: readonly GivenVerdict[], first: number, reliability: number): boolean => {
  const said = given.filter(({ verdict }) => verdict !== 'skip')
  const wrong = said.filter(({ position, verdict }) => (verdict === 'bad') !== first <= position).length
  const expected = said.length * (1 - reliability)
  return wrong <= expected + 3 * Math.sqrt(expected * reliability) + 1
}

/** Returns an unclear result for contradictory verdicts, which suggest several changes instead of one. */
const unclearAmong = ({ candidates }: Search, given: readonly GivenVerdict[]): Move => {
  const bad = given.filter(({ verdict }) => verdict === 'bad').map(({ position }) => position)
  const good = given.filter(({ verdict }) => verdict === 'good').map(({ position }) => position)
  const first = Math.min(...bad, candidates.at(-1) ?? 0)
  const last = Math.max(...good, candidates[0] ?? 0)
  return { type: 'unclear', first: Math.min(first, last), last: Math.max(first, last), why: 'contradicting' }
}

/**
 * Returns the largest number. Does not use `Math.max` on all numbers at once, because it accepts fewer arguments than a conversation
 * may have events.
 */
const largest = (numbers: readonly number[]): number =>
  numbers.reduce((most, one) => Math.max(most, one), -Infinity)

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
