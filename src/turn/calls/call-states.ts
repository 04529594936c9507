import type { RecordedTurnFact } from '../../events/turn-events.ts'
import type { TurnLog, TurnsEnd } from '../../history/turn-log.ts'
import { caught, type Steps } from '../../result/steps.ts'
import type { ReadError, StoreError } from '../../store/errors.ts'
import type { OpenCall } from './open-calls.ts'

/** How far a call got, as the log of turns says. */
export interface CallState {
  readonly isStarted: boolean
  /** The conversation that this one was forked from, where it was started. */
  readonly startedIn?: string
  /** The newest wait for it. */
  readonly wait?: RecordedTurnFact<'CallsWaiting'>
  /** The decision on that wait. */
  readonly decision?: RecordedTurnFact<'CallDecided'>
}

/** How far the calls of some replies got. */
export interface CallStates {
  /** Where the log of turns ended. */
  readonly end: TurnsEnd
  readonly of: (reply: number, call: string) => CallState
}

const notStarted: CallState = { isStarted: false }

/** What is known of calls of which nothing was recorded up to there. */
export const noStates = (end: TurnsEnd): CallStates => ({ end, of: () => notStarted })

/**
 * How far calls got. Those that a fork has of another conversation's reply may have been started there: that counts here, too, with what was
 * decided about them. Other waits are for the conversation in which they are.
 */
export async function* statesOf(log: TurnLog, open: readonly OpenCall[]): Steps<ReadError, CallStates> {
  const first = Math.min(...open.map(({ use }) => use))
  const own = yield* callStates(log, first)
  const inherited: (readonly [string, CallStates])[] = []
  for (const other of yield* log.above(first))
    inherited.push([other.conversation, yield* callStates(other, first)])
  const of = (reply: number, call: string): CallState => {
    const state = own.of(reply, call)
    const above = state.isStarted
      ? undefined
      : inherited.find(([, { of: its }]) => its(reply, call).isStarted)
    if (!above) return state
    const [startedIn, states] = above
    return { ...states.of(reply, call), startedIn }
  }
  return { end: own.end, of }
}

/** @param reply the position of the first reply that matters: the log is read back to it */
export async function* callStates(log: TurnLog, reply: number): Steps<StoreError, CallStates> {
  const states = new Map<string, CallState>()
  const place = (position: number, call: string): string => `${position} ${call}`
  const of = (position: number, call: string): CallState => states.get(place(position, call)) ?? notStarted
  const decisions = new Map<number, Map<string, RecordedTurnFact<'CallDecided'>>>()
  yield* caught<StoreError, void>(async () => {
    for await (const fact of log.newest()) {
      if (fact.data.at < reply) break
      if (fact.type === 'ToolStarted')
        states.set(place(fact.data.reply, fact.data.call), {
          ...of(fact.data.reply, fact.data.call),
          isStarted: true,
        })
      else if (fact.type === 'CallDecided') {
        const { wait, call } = fact.data
        // Newest first: what is set last was decided first.
        decisions.set(wait, (decisions.get(wait) ?? new Map()).set(call, fact))
      } else if (fact.type === 'CallsWaiting')
        for (const call of fact.data.calls) {
          const state = of(fact.data.reply, call)
          if (state.wait) continue
          const decision = decisions.get(fact.revision)?.get(call)
          states.set(place(fact.data.reply, call), {
            ...state,
            wait: fact,
            ...(decision && { decision }),
          })
        }
    }
  })
  return { end: yield* log.end(), of }
}
