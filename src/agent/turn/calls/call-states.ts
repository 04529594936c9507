import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import type { TurnLog, TurnsEnd } from '../../../conversation/beside/turn-log.ts'
import { caught, type Steps } from '../../../result/steps.ts'
import type { ReadError, StoreError } from '../../../store/errors.ts'
import type { OpenCall } from './open-calls.ts'

/**
 * What the log of turns says of a call.
 *
 * 1. A wait has at most one decision, and permits at most one start: what is asked again waits again.
 * 2. A fork has the call of another conversation's reply: it waits, is decided about and is started in each for itself.
 */
export interface CallState {
  /** The newest wait for it. */
  readonly wait?: RecordedTurnFact<'CallsWaiting'>
  /** The decision on that wait. */
  readonly decision?: RecordedTurnFact<'CallDecided'>
  /** Its newest start since that wait, or at all if it has never waited. */
  readonly started?: RecordedTurnFact<'ToolStarted'>
  /** Its newest start before that wait. */
  readonly earlier?: RecordedTurnFact<'ToolStarted'>
  /** What became of it where this conversation has the reply from. */
  readonly above?: CallAbove
}

/** A call in the conversation that this one was forked from. */
export interface CallAbove {
  /** The conversation that knows most of it. */
  readonly conversation: string
  readonly started?: RecordedTurnFact<'ToolStarted'>
  readonly wait?: RecordedTurnFact<'CallsWaiting'>
}

/** How far the calls of some replies got. */
export interface CallStates {
  /** Where the log of turns ended. */
  readonly end: TurnsEnd
  /** Ids of the first events of the logs, of the conversation's own and of those above. */
  readonly begun: ReadonlySet<string>
  readonly of: (reply: number, call: string) => CallState
}

const unknown: CallState = {}

/** What is known of calls of which nothing was recorded up to there. */
export const noStates = (end: TurnsEnd): CallStates => ({ end, begun: begunIn([end]), of: () => unknown })

const begunIn = (ends: readonly TurnsEnd[]): ReadonlySet<string> =>
  new Set(ends.flatMap(({ begun }) => begun ?? []))

/**
 * How far calls got, here and where a fork has them from.
 *
 * @param at by what was recorded while the conversation ended at this position or before it
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

/** The newest start of a call. */
export const startOf = ({ started, earlier }: Pick<CallState, 'started' | 'earlier'>): CallState['started'] =>
  started ?? earlier

/**
 * @param reply the position of the first reply that matters: the log is read back to it
 * @param at by what was recorded while the conversation ended at this position or before it
 */
export async function* callStates(log: TurnLog, reply: number, at = Infinity): Steps<StoreError, CallStates> {
  const facts: RecordedTurnFact[] = []
  yield* caught<StoreError, void>(async () => {
    for await (const fact of log.newest()) {
      if (fact.data.at < reply) break
      if (fact.data.at <= at) facts.push(fact)
    }
  })
  const states = foldOf(facts.toReversed())
  const end = yield* log.end()
  return { end, begun: begunIn([end]), of: (position, call) => states.get(`${position} ${call}`) ?? unknown }
}

/** What the log says of the call of this id that has waited last, however long ago; undefined if none has. */
export const lastWaiting = (log: TurnLog, call: string): Steps<StoreError, CallState | undefined> =>
  caught(async () => {
    const facts: RecordedTurnFact[] = []
    for await (const fact of log.newest()) {
      facts.push(fact)
      if (fact.type === 'CallsWaiting' && fact.data.calls.includes(call))
        return foldOf(facts.toReversed()).get(`${fact.data.reply} ${call}`)
    }
    return undefined
  })

/** What facts, the oldest first, say of each call. */
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
  /** Nothing else was written along with it: somebody has gone back in time, and not only put messages in order. */
  readonly isAlone: boolean
}

/**
 * Whether the conversation has gone back to before the wait for a call was settled: then it is asked about again. A wait ends with its
 * reply; what was decided or started on it, once the conversation returns to a moment before that.
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

/** Whether the time for a decision is over. */
export const isOver = ({ until }: { readonly until?: string | undefined }, now: number): boolean =>
  until !== undefined && Date.parse(until) <= now
