import type { RecordedTurnFact, TurnFact } from '../../../events/turn-events.ts'
import type { TurnLog } from '../../../conversation/beside/turn-log.ts'
import type { Fallible } from '../../../result/fallible.ts'
import { despiteConflicts } from '../../../store/conflicts.ts'
import type { StoreError, WriteError } from '../../../store/errors.ts'

type Facts = readonly RecordedTurnFact[]

/**
 * Releases a claim to a conversation, unless another holder has claimed the conversation since.
 *
 * @param claimed revision of the claim
 * @param how returns the fact to record, given the facts after the claim; undefined if nothing has to be released
 */
export const letGo = (
  log: TurnLog,
  claimed: number,
  how: (since: Facts) => TurnFact<'TurnReleased' | 'TurnParked'> | undefined,
): Fallible<StoreError | WriteError, void> =>
  despiteConflicts(async function* (): Fallible<StoreError | WriteError, void> {
    const since = yield* log.after(claimed)
    const fact = how(since)
    if (fact) yield* log.append([fact], since.at(-1)?.revision ?? claimed)
  })
