import { START } from '../../../events/events.ts'
import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import type { TurnLog } from '../../../conversation/beside/turn-log.ts'
import { catchTyped, type Fallible } from '../../../result/fallible.ts'
import type { StoreError } from '../../../store/errors.ts'

export type Claim = RecordedTurnFact<'TurnClaimed'>
type AboutClaims = RecordedTurnFact<'TurnClaimed' | 'TurnReleased' | 'TurnParked'>

/** Status of the claims to a conversation, according to the log of turns. */
export interface ClaimStatus {
  /** Last revision of the log of turns; -1 if the log is empty. */
  readonly revision: number
  /** Highest position of the conversation at which a fact was recorded. */
  readonly at: number
  /** Step that was last claimed, released or parked. */
  readonly step?: string | undefined
  /** Newest claim; absent if it was released or its step was parked. A final reply recorded after the claim ends it, too. */
  readonly claim?: Claim | undefined
  /** Position at which a turn was last requested from workers. */
  readonly requestedAt?: number | undefined
}

/** Number of facts per page. In most logs of turns, one of the last few facts names the holder. */
const page = 8

/** Returns the status of the claims, as far as `since`, the last final reply; without it, until the step is known. */
export const claimStatusOf = (log: TurnLog, since?: number): Fallible<StoreError, ClaimStatus> =>
  catchTyped(async () => {
    let revision = -1
    let at = START
    let newest: AboutClaims | undefined
    let requestedAt: number | undefined
    for await (const fact of log.newest(page)) {
      revision = Math.max(revision, fact.revision)
      at = Math.max(at, fact.data.at)
      if (fact.type === 'TurnRequested') requestedAt ??= fact.data.at
      else if (fact.type === 'TurnClaimed' || fact.type === 'TurnReleased' || fact.type === 'TurnParked')
        newest ??= fact
      if (since === undefined ? newest : fact.data.at < since) break
    }
    const claim = newest?.type === 'TurnClaimed' ? newest : undefined
    return { revision, at, claim, step: newest?.data.step, requestedAt }
  })
