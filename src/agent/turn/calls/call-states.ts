import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import type { TurnLog, TurnsEnd } from '../../../conversation/beside/turn-log.ts'
import { catchTyped, type Steps } from '../../../result/steps.ts'
import type { ReadError, StoreError } from '../../../store/errors.ts'
import type { OpenCall } from './open-calls.ts'

/**
 * State of a call according to the log of turns.
 *
 * 1. A wait has at most one decision, and permits at most one start: a call that needs approval again waits again.
 * 2. A fork shares calls of replies with other conversations: each conversation has its own waits, decisions and starts of such a call.
 */
export interface CallState {
  /** Its newest wait. */
  readonly wait?: RecordedTurnFact<'CallsWaiting'>
  /** The decision on that wait. */
  readonly decision?: RecordedTurnFact<'CallDecided'>
  /** Its newest start since that wait, or its newest start if it has never waited. */
  readonly started?: RecordedTurnFact<'ToolStarted'>
  /** Its newest start before that wait. */
  readonly earlier?: RecordedTurnFact<'ToolStarted'>
  /** State of the call in the conversation that the reply was inherited from. */
  readonly above?: CallAbove
}

/** A call in the conversation that this one was forked from. */
export interface CallAbove {
  /** The ancestor with the most relevant record of the call. */
  readonly conversation: string
  readonly started?: RecordedTurnFact<'ToolStarted'>
  readonly wait?: RecordedTurnFact<'CallsWaiting'>
}

/** States of the calls of some replies. */
export interface CallStates {
  /** End of the log of turns. */
  readonly end: TurnsEnd
  /** Ids of the first events of the logs: the conversation's own and its ancestors'. */
  readonly begun: ReadonlySet<string>
  readonly of: (reply: number, call: string) => CallState
}

const unknown: CallState = {}

/** Returns the states of calls with no record up to this end. */
export const noStates = (end: TurnsEnd): CallStates => ({ end, begun: begunIn([end]), of: () => unknown })

const begunIn = (ends: readonly TurnsEnd[]): ReadonlySet<string> =>
  new Set(ends.flatMap(({ begun }) => begun ?? []))

/**
 * Returns the states of calls, in this conversation and in the ones that it was forked from.
 *
 * @param at include only facts recorded while the conversation ended at this position or before it
 */
export async function* statesOf(
  log: TurnLog,
  open: readonly OpenCall[],
  at = Infinity,
): Steps<ReadError, CallStates> {
  const replies = new Set(open.map(({ use }) => use))
  const first = Math.min(...replies)
  const own = yield* callStates(log, first, at)
  const above = new Map<number, readonly (readonly [string, CallStates])[]>()
  const read = new Map<string, CallStates>()
  for (const reply of replies) {
    const theirs: (readonly [string, CallStates])[] = []
    for (const other of yield* log.above(reply)) {
      const states = read.get(other.conversation) ?? (yield* callStates(other, first))
      read.set(other.conversation, states)
      theirs.push([other.conversation, states])
    }
    above.set(reply, theirs)
  }
  const of = (reply: number, call: string): CallState => {
    const theirs = (above.get(reply) ?? []).map(([conversation, states]) => ({
      conversation,
      ...states.of(reply, call),
    }))
    const nearest = theirs.find(startOf) ?? theirs.find(({ wait }) => wait) ?? theirs.at(-1)
    if (!nearest) return own.of(reply, call)
    const { conversation, wait } = nearest
    const started = startOf(nearest)
    return {
      ...own.of(reply, call),
      above: { conversation, ...(started && { started }), ...(wait && { wait }) },
    }
  }
  return { end: own.end, begun: begunIn([own, ...read.values()].map(({ end }) => end)), of }
}

/** Returns the newest start of a call. */
export const startOf = ({ started, earlier }: Pick<CallState, 'started' | 'earlier'>): CallState['started'] =>
  started ?? earlier

/**
 * @param reply position of the first relevant reply: the log is read back to it
 * @param at include only facts recorded while the conversation ended at this position or before it
 */
export async function* callStates(log: TurnLog, reply: number, at = Infinity): Steps<StoreError, CallStates> {
  const facts: RecordedTurnFact[] = []
  yield* catchTyped<StoreError, void>(async () => {
    for await (const fact of log.newest()) {
      if (fact.data.at < reply) break
      if (fact.data.at <= at) facts.push(fact)
    }
  })
  const states = foldOf(facts.toReversed())
  const end = yield* log.end()
  return { end, begun: begunIn([end]), of: (position, call) => states.get(`${position} ${call}`) ?? unknown }
}

/** Returns the state of the call with this id that waited last, however long ago; undefined if none has. */
export const lastWaiting = (log: TurnLog, call: string): Steps<StoreError, CallState | undefined> =>
  catchTyped(async () => {
    const facts: RecordedTurnFact[] = []
    for await (const fact of log.newest()) {
      facts.push(fact)
      if (fact.type === 'CallsWaiting' && fact.data.calls.includes(call))
        return foldOf(facts.toReversed()).get(`${fact.data.reply} ${call}`)
    }
    return undefined
  })

/** Folds facts, oldest first, into the state of each call. */
const foldOf = (facts: readonly RecordedTurnFact[]): ReadonlyMap<string, CallState> => {
  const states = new Map<string, CallState>()
  const change = (reply: number, call: string, to: (before: CallState) => CallState): void => {
    const place = `${reply} ${call}`
    states.set(place, to(states.get(place) ?? unknown))
  }
  for (const fact of facts) {
    if (fact.type === 'ToolStarted')
      change(fact.data.reply, fact.data.call, (before) => ({ ...before, started: fact }))
    else if (fact.type === 'CallDecided')
      change(fact.data.reply, fact.data.call, (before) =>
        before.wait?.revision === fact.data.wait && !before.decision ? { ...before, decision: fact } : before,
      )
    else if (fact.type === 'CallsWaiting')
      for (const call of fact.data.calls)
        change(fact.data.reply, call, (before) => {
          const earlier = startOf(before)
          return { wait: fact, ...(earlier && { earlier }) }
        })
  }
  return states
}

/** A rewind of the conversation. */
export interface RewindPoint {
  readonly position: number
  readonly to: number
  /** True if nothing else was written with it: the user went back in time, and messages were not just reordered. */
  readonly isAlone: boolean
}

/**
 * Reports whether the conversation was rewound to before the wait for a call was settled: then the call needs a new decision. A wait
 * ends with its reply; its decision or start, once the conversation returns to an earlier moment.
 */
export const isWithdrawn = (
  { wait, decision, started }: CallState,
  rewinds: readonly RewindPoint[],
  now: number,
): boolean => {
  if (!wait) return false
  const { reply, at } = wait.data
  const settled = decision?.data.at ?? (isOver(wait.data, now) ? at : Infinity)
  return rewinds.some(
    ({ position, to, isAlone }) =>
      position > at &&
      (to < reply ||
        (isAlone && position > settled && to <= settled) ||
        (isAlone && position > (started?.data.at ?? Infinity))),
  )
}

/** True if the time for a decision has expired. */
export const isOver = ({ until }: { readonly until?: string | undefined }, now: number): boolean =>
  until !== undefined && Date.parse(until) <= now
