import { START } from '../../../events/events.ts'
import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import type { TurnLog } from '../../../conversation/beside/turn-log.ts'
import { catchTyped, type Steps } from '../../../result/steps.ts'
import type { StoreError } from '../../../store/errors.ts'

export type Claim = RecordedTurnFact<'TurnClaimed'>
type AboutClaims = RecordedTurnFact<'TurnClaimed' | 'TurnReleased' | 'TurnParked'>

/** Status of the claims to a conversation, according to the log of turns. */
export interface ClaimStatus {
  /** Last revision of the log; -1 if it is empty. */
  readonly revision: number
  /** Highest position at which a fact was recorded. */
  readonly at: number
  /** Step that was last claimed, released or parked. */
  readonly step?: string | undefined
  /** Newest claim that was not released. A final reply recorded after it ends it. */
  readonly claim?: Claim | undefined
  /** Position at which workers were last requested to give a turn. */
  readonly requestedAt?: number | undefined
}

/** Number of facts per page: in most logs of turns, the holder is named among the last ones. */
const page = 8

/** @param since position of the last final reply: facts recorded before it no longer matter. Without it, reads until it knows the step */
export async function* claimStatusOf(log: TurnLog, since?: number): Steps<StoreError, ClaimStatus> {
  return yield* catchTyped<StoreError, ClaimStatus>(async () => {
    let revision = -1
    let at = START
    let newest: AboutClaims | undefined
    let requestedAt: number | undefined
    for await (const fact of log.newest(page)) {
      revision = Math.max(revision, fact.revision)
      at = Math.max(at, fact.data.at)
      if (fact.type === 'TurnRequested') requestedAt ??= fact.data.at
      if (isAboutClaims(fact)) newest ??= fact
      if (since === undefined ? newest : fact.data.at < since) break
    }
    const claim = newest?.type === 'TurnClaimed' ? newest : undefined
    return { revision, at, claim, step: newest?.data.step, requestedAt }
  })
}

const isAboutClaims = (fact: RecordedTurnFact): fact is AboutClaims =>
  fact.type === 'TurnClaimed' || fact.type === 'TurnReleased' || fact.type === 'TurnParked'
