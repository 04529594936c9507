import * as E from 'fp-ts/lib/Either.js'
import { START } from '../../events/events.ts'
import type { RecordedTurnFact, TurnEventData, TurnFact } from '../../events/turn-events.ts'
import type { TurnLog } from '../../history/turn-log.ts'
import { run, type Steps } from '../../result/steps.ts'
import type { StoreError, WriteError } from '../../store/errors.ts'

type Facts = readonly RecordedTurnFact[]
type Released = Omit<TurnEventData['TurnReleased'], 'at'>

/**
 * Lets go of a conversation, unless it is another's by now.
 *
 * @param claimed the revision of the claim
 * @param how what is recorded, given the facts that came after the claim; undefined if there is nothing left to let go of
 */
export async function* letGo(
  log: TurnLog,
  claimed: number,
  how: (since: Facts) => Released | undefined,
): Steps<StoreError | WriteError, void> {
  for (;;) {
    const since = yield* log.after(claimed)
    const released = how(since)
    if (!released) return
    const fact: TurnFact = { type: 'TurnReleased', data: { ...released, at: START } }
    const written = await run(log.append([fact], since.at(-1)?.revision ?? claimed))
    if (E.isRight(written)) return
    if (written.left._tag !== 'Conflict') return yield written.left
  }
}
