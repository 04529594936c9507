import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import { workerStreamOf } from '../../events/ids.ts'
import { workerCodec, type WorkerFact } from '../../events/worker-events.ts'
import type { Fallible } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import type { StoreError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { completeEnvelope } from '../writing/encode.ts'
import { sideStream } from './side-stream.ts'

/** Appends an event to a worker's stream. Retries on conflict, because the event is valid at any revision. */
export const tell = (
  store: EventStore,
  actor: Actor,
  worker: string,
  fact: WorkerFact,
): Fallible<StoreError | InvalidInput | EventTooLarge, void> => {
  const name = { stream: workerStreamOf(worker), of: worker, isChained: false }
  const side = sideStream(store, name, workerCodec)
  const envelope = completeEnvelope({}, actor)
  return despiteConflicts(async function* (): Fallible<StoreError | InvalidInput | EventTooLarge, void> {
    yield* side.append([fact], yield* side.end(), envelope)
  })
}
