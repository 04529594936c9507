import type { CallName } from '../events/call-name.ts'
import type { Log } from '../projections/path.ts'
import { type HiddenTerm, missingTerms, mostHolders } from './missing-terms.ts'
import { lastPartOf } from './path-ends.ts'
import { answerOf, askedCallsIn } from './replies.ts'
import { termsUsedIn } from './terms.ts'
import { walkLog } from './walk-log.ts'

/** A term that replies needed although it occurred only in hidden messages. */
export interface NeededTerm extends HiddenTerm {
  /** Calls that needed the term while it was hidden, in order. */
  readonly calls: readonly CallName[]
  /** Number of replies that name the term, from the first of these calls on. */
  readonly uses: number
}

/** Everything that summaries and truncations hid although a later reply needed it. */
export interface LossReport {
  readonly conversation: string
  /** Number of replies that were examined. */
  readonly replies: number
  /** Terms that no summary names come first, then those that most replies name. */
  readonly needed: readonly NeededTerm[]
}

/** Finds the terms that each reply of a log needed although they were hidden, including replies on abandoned branches. */
export const whyEveryCall = (conversation: string, log: Log): LossReport => {
  const calls = askedCallsIn(log)
    .filter(({ kind, at }) => kind === 'reply' && at >= 0)
    .toSorted((one, other) => one.at - other.at)
  const tallies = new Map<string, Tally>()
  let next = 0
  for (const { event, replay } of walkLog(log, undefined, () => false))
    for (let call = calls[next]; call?.at === event.position; call = calls[++next]) {
      const answer = answerOf(log, call)
      for (const found of missingTerms(replay.effectiveAt(call.at), replay.search, answer))
        add(tallies, call.name, found)
      for (const term of termsUsedIn(answer)) tallies.get(term)?.replies.add(call.position)
    }
  return { conversation, replies: calls.length, needed: joined(tallies).map(neededTerm).toSorted(byNeed) }
}

/** Findings about a term in the replies examined so far. */
interface Tally {
  readonly term: string
  readonly calls: Set<CallName>
  /** Positions of the replies that name the term. */
  readonly replies: Set<number>
  readonly hidden: Set<number>
  readonly by: Set<number>
  inSummary: boolean
}

const add = (tallies: Map<string, Tally>, call: CallName, found: HiddenTerm): void => {
  const { term, hidden, by, inSummary } = found
  const tally = tallies.get(term) ?? {
    term,
    calls: new Set(),
    replies: new Set(),
    hidden: new Set(),
    by: new Set(),
    inSummary: true,
  }
  tallies.set(term, tally)
  unite(tally, { calls: [call], hidden, by, inSummary })
}

interface Addition {
  readonly calls: Iterable<CallName>
  readonly hidden: Iterable<number>
  readonly by: Iterable<number>
  readonly inSummary: boolean
}

const unite = (tally: Tally, { calls, hidden, by, inSummary }: Addition): void => {
  for (const one of calls) tally.calls.add(one)
  for (const one of hidden) tally.hidden.add(one)
  for (const one of by) tally.by.add(one)
  tally.inSummary &&= inSummary
}

/** Joins each path with the longest other path that it is the end of, because both name the same file. */
const joined = (tallies: ReadonlyMap<string, Tally>): readonly Tally[] => {
  const longestFirst = [...tallies.values()].toSorted((one, other) => other.term.length - one.term.length)
  const known = new Map<string, Tally[]>()
  for (const tally of longestFirst) {
    const name = lastPartOf(tally.term) ?? tally.term
    const alike = known.get(name) ?? []
    known.set(name, alike)
    const whole = alike.find(({ term }) => term.endsWith(`/${tally.term}`))
    if (!whole) alike.push(tally)
    else {
      unite(whole, tally)
      for (const position of tally.replies) whole.replies.add(position)
    }
  }
  return [...known.values()].flat()
}

const neededTerm = ({ term, calls, replies, hidden, by, inSummary }: Tally): NeededTerm => ({
  term,
  calls: [...calls],
  uses: replies.size,
  hidden: [...hidden].toSorted((a, b) => a - b).slice(-mostHolders),
  by: [...by].toSorted((a, b) => a - b),
  inSummary,
})

const byNeed = (a: NeededTerm, b: NeededTerm): number =>
  Number(a.inSummary) - Number(b.inSummary) || b.uses - a.uses || b.calls.length - a.calls.length
