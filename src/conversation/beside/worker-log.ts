import type { Actor } from '../../events/events.ts'
import { newCommandId, workerStreamOf } from '../../events/ids.ts'
import { workerCodec, type WorkerFact } from '../../events/worker-events.ts'
import { completeEnvelope, metadataOf } from '../writing/encode.ts'
import { ok, type Steps } from '../../result/steps.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import type { StoreError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'

/** Appends to the stream of a worker, whoever else does: what it says is true at any revision. */
export async function* tell(
  store: EventStore,
  actor: Actor,
  worker: string,
  fact: WorkerFact,
): Steps<StoreError | InvalidInput | EventTooLarge, void> {
  const stream = workerStreamOf(worker)
  const commandId = newCommandId()
  const metadata = { ...metadataOf(completeEnvelope({ commandId }, actor)), prev: null }
  const events = [yield* ok(workerCodec.encode(fact, commandId, metadata))]
  yield* despiteConflicts(async function* (): Steps<StoreError, void> {
    const from = Number.MAX_SAFE_INTEGER
    const [last] = yield* ok(store.read({ stream, from, direction: 'backwards', limit: 1 }))
    yield* ok(store.append({ stream, events, expected: last?.revision ?? -1, isNew: true }))
  })
}
