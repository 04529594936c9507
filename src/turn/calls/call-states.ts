import type { RecordedTurnFact } from '../../events/turn-events.ts'
import type { TurnLog, TurnsEnd } from '../../history/turn-log.ts'
import { caught, type Steps } from '../../result/steps.ts'
import type { StoreError } from '../../store/errors.ts'

/** How far a call got, as the log of turns says. */
export interface CallState {
  readonly isStarted: boolean
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
