import type { Actor } from '../../events/events.ts'
import { workerStreamOf } from '../../events/ids.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { WriteError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { tell } from '../../conversation/beside/worker-log.ts'

/** Reports whether the worker or program with this name is known to have ended. If its end is not yet recorded, records it now. */
export async function* isGone(store: EventStore, actor: Actor, name: string): Fallible<WriteError, boolean> {
  const forget = store.liveness?.inherit(name)
  if (forget) {
    yield* tell(store, actor, name, { type: 'WorkerStopped', data: { reason: 'its process has ended' } })
    forget()
    return true
  }
  const from = Number.MAX_SAFE_INTEGER
  const range = { stream: workerStreamOf(name), from, direction: 'backwards', limit: 1 } as const
  const [last] = yield* unwrap(store.read(range))
  return last?.type === 'WorkerStopped'
}
