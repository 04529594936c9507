import { START } from '../../../events/events.ts'
import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import type { TurnLog } from '../../../conversation/beside/turn-log.ts'
import { caught, type Steps } from '../../../result/steps.ts'
import type { StoreError } from '../../../store/errors.ts'

export type Claim = RecordedTurnFact<'TurnClaimed'>
type AboutClaims = RecordedTurnFact<'TurnClaimed' | 'TurnReleased' | 'TurnParked'>

/** Who gives turns to a conversation, as the log of turns says. */
export interface ClaimStatus {
  /** The last revision of the log; -1 if nothing is recorded. */
  readonly revision: number
  /** The highest position that anything was recorded at. */
  readonly at: number
  /** The step that was last claimed, released or parked. */
  readonly step?: string | undefined
  /** The newest claim that was not let go of. A reply that was recorded after it, and with which the model has finished, ends it. */
  readonly claim?: Claim | undefined
  /** Position at which workers were last asked for a turn. */
  readonly requestedAt?: number | undefined
}

/** Most logs of turns say who has the conversation among their last facts. */
const page = 8

/**
 * @param since position of the last reply with which a model has finished: what was recorded before it is over. Without it, reads until it
 *   knows the step
 */
export async function* standingOf(log: TurnLog, since?: number): Steps<StoreError, ClaimStatus> {
  return yield* caught<StoreError, ClaimStatus>(async () => {
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
