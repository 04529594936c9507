import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import type { TurnLog, TurnsEnd } from '../../../conversation/beside/turn-log.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { catchTyped, type Fallible } from '../../../result/fallible.ts'
import type { ReadError, StoreError } from '../../../store/errors.ts'
import type { OpenCall } from './open-calls.ts'

/**
 * State of a tool call according to the log of turns.
 *
 * 1. A wait has at most one decision, and permits at most one start: a call that needs approval again waits again.
 * 2. A fork shares the calls of inherited replies with other conversations. Each conversation has its own waits, decisions and starts
 *    of such a call.
 */
export interface CallState {
  /** Newest wait of the call. */
  readonly wait?: RecordedTurnFact<'CallsWaiting'>
  /** Decision on the newest wait. */
  readonly decision?: RecordedTurnFact<'CallDecided'>
  /** Newest start of the call since its newest wait; if the call has never waited, its newest start. */
  readonly started?: RecordedTurnFact<'ToolStarted'>
  /** Newest start of the call before its newest wait. */
  readonly earlier?: RecordedTurnFact<'ToolStarted'>
  /** State in an ancestor, if the conversation is a fork that inherited the reply: in one with a start, otherwise in one with a wait. */
  readonly above?: Pick<CallState, 'wait' | 'started'> & { readonly conversation: string }
}

/** States of the tool calls of several replies. */
export interface CallStates {
  readonly end: TurnsEnd
  /** Ids of the first events in the logs of turns of the conversation and its ancestors. */
  readonly begun: ReadonlySet<string>
  readonly of: (reply: number, call: string) => CallState
}

const unknown: CallState = {}

/** Returns the states of calls about which the log of turns records nothing up to and including `end`. */
export const noStates = (end: TurnsEnd): CallStates => ({ end, begun: begunIn([end]), of: () => unknown })

const begunIn = (ends: readonly TurnsEnd[]): ReadonlySet<string> =>
  new Set(ends.flatMap(({ begun }) => begun ?? []))

/** Returns the states of calls in this conversation and its ancestors, as recorded before the conversation grew beyond `at`. */
export async function* statesOf(
  log: TurnLog,
  open: readonly OpenCall[],
  at = Infinity,
): Fallible<ReadError, CallStates> {
  const replies = new Set(open.map(({ use }) => use))
  const first = Math.min(...replies)
  const own = yield* statesIn(log, first, at)
  const above = new Map<number, readonly OwnStates[]>()
  const read = new Map<string, OwnStates>()
  for (const reply of replies) {
    const theirs: OwnStates[] = []
    for (const other of yield* log.above(reply)) {
      const states = read.get(other.conversation) ?? (yield* statesIn(other, first))
      read.set(other.conversation, states)
      theirs.push(states)
    }
    above.set(reply, theirs)
  }
  const of = (reply: number, call: string): CallState => {
    const state = own.of(reply, call)
    const theirs = (above.get(reply) ?? []).map((states) => ({ ...states, ...states.of(reply, call) }))
    const nearest = theirs.find(startOf) ?? theirs.find(({ wait }) => wait) ?? theirs.at(-1)
    if (!nearest) return state
    const { conversation, wait } = nearest
    const started = startOf(nearest)
    return { ...state, above: { conversation, ...(started && { started }), ...(wait && { wait }) } }
  }
  return { end: own.end, begun: begunIn([own, ...read.values()].map(({ end }) => end)), of }
}

/** Returns the newest start of a call. */
export const startOf = ({ started, earlier }: Pick<CallState, 'started' | 'earlier'>): CallState['started'] =>
  started ?? earlier

/** States of calls according to a single log of turns. */
interface OwnStates extends Pick<CallStates, 'end' | 'of'> {
  readonly conversation: string
}

/** Returns the states of the calls of the reply at position `reply` and of later ones; reads the log backwards to it. */
async function* statesIn(log: TurnLog, reply: number, at = Infinity): Fallible<StoreError, OwnStates> {
  const facts: RecordedTurnFact[] = []
  yield* catchTyped<StoreError, void>(async () => {
    for await (const fact of log.newest()) {
      if (fact.data.at < reply) break
      if (fact.data.at <= at) facts.push(fact)
    }
  })
  const states = foldOf(facts.toReversed())
  const of = (position: number, call: string): CallState => states.get(`${position} ${call}`) ?? unknown
  return { conversation: log.conversation, end: yield* log.end(), of }
}

/** Returns the state of the call with this id that began to wait last, however long ago; undefined if none has waited. */
export const lastWaiting = (log: TurnLog, call: string): Fallible<StoreError, CallState | undefined> =>
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

export interface RewindPoint {
  readonly position: number
  readonly to: number
  /** True if no adjacent event belongs to the same command: the rewind takes the conversation back, and does not only reorder messages. */
  readonly isAlone: boolean
}

export async function* rewindsAfter(
  chat: ConversationHandle,
  at: number,
): Fallible<ReadError, readonly RewindPoint[]> {
  const events = yield* chat.later(at)
  return events.flatMap((event, index) => {
    if (event.type !== 'Rewound') return []
    const isAlone = [events[index - 1], events[index + 1]].every(
      (other) => other?.metadata.commandId !== event.metadata.commandId,
    )
    return [{ position: event.position, to: event.data.to, isAlone }]
  })
}

/**
 * Reports whether a rewind has withdrawn the wait for a call, so that the call needs a new decision. A rewind to before the reply
 * always withdraws the wait. A rewind with `isAlone` also withdraws it if it goes back to before the decision, or if the tool was
 * started before the rewind.
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

/** Reports whether the time for a decision has expired. */
export const isOver = ({ until }: { readonly until?: string | undefined }, now: number): boolean =>
  until !== undefined && Date.parse(until) <= now
