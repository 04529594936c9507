import type { RecordedTurnFact } from '../../events/turn-events.ts'
import type { TurnLog } from '../../history/turn-log.ts'
import { caught, type Steps } from '../../result/steps.ts'
import type { StoreError } from '../../store/errors.ts'

export type Claim = RecordedTurnFact<'TurnClaimed'>

/** Who gives turns to a conversation, as the log of turns says. */
export interface Standing {
  /** The last revision that was read. */
  readonly revision: number
  /** The newest claim that was not let go of. A reply that was recorded after it, and with which the model has finished, ends it. */
  readonly claim?: Claim | undefined
  /** Position at which workers were last asked for a turn. */
  readonly requestedAt?: number | undefined
}

/** Most logs of turns say who has the conversation among their last facts. */
const page = 8

/** @param since position of the last reply with which a model has finished: what was recorded before it is over */
export async function* standingOf(log: TurnLog, since: number): Steps<StoreError, Standing> {
  let claim: Claim | undefined
  let isFound = false
  let requestedAt: number | undefined
  yield* caught<StoreError, void>(async () => {
    for await (const fact of log.newest(page)) {
      if (fact.type === 'TurnRequested') requestedAt ??= fact.data.at
      if (!isFound && isAboutClaims(fact)) {
        isFound = true
        claim = fact.type === 'TurnClaimed' ? fact : undefined
      }
      if (fact.data.at < since) break
    }
  })
  return { revision: (yield* log.end()).revision, claim, requestedAt }
}

const isAboutClaims = ({ type }: RecordedTurnFact): boolean =>
  type === 'TurnClaimed' || type === 'TurnReleased' || type === 'TurnParked'
