import { workerStreamOf } from '../../../events/ids.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { modelAborted } from '../../models/abort.ts'
import type { ModelAborted } from '../../models/model.ts'
import type { Fallible } from '../../../result/fallible.ts'
import type { ReadError, WriteError } from '../../../store/errors.ts'
import type { RecordedEvent } from '../../../store/port.ts'
import type { Claim } from './claim-status.ts'

interface Waiting {
  /** Milliseconds of silence after which the holder counts as dead. */
  readonly ttl: number
  readonly signal: AbortSignal
  /** Reports whether the claim is still valid. */
  readonly stands: () => Fallible<ReadError | WriteError, boolean>
}

/**
 * Waits until a claim is over, its holder is known to have ended, or the holder has been silent for `ttl` ms and counts as dead.
 *
 * @returns true if the claim is still valid
 */
export async function* untilFree(
  chat: ConversationHandle,
  { data: { worker } }: Claim,
  { ttl, signal, stands }: Waiting,
): Fallible<ReadError | WriteError | ModelAborted, boolean> {
  const { clock, isGone, lookEvery } = chat.party
  const own = workerStreamOf(worker)
  const over = new AbortController()
  let heardAt = clock.now()
  let wake = (): void => {}
  let isNew = false
  const seen = ({ stream }: RecordedEvent): void => {
    if (stream === own) heardAt = clock.now()
    isNew = true
    wake()
  }
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      const left = Math.max(0, heardAt + ttl - clock.now())
      const cancel = clock.after(Math.min(left, lookEvery), () => wake())
      wake = () => {
        cancel()
        signal.removeEventListener('abort', wake)
        resolve()
      }
      signal.addEventListener('abort', wake)
      if (isNew || signal.aborted) wake()
    })
  try {
    await chat.changes(seen, over.signal, [own])
    for (;;) {
      isNew = false
      if (!(yield* stands())) return false
      if (clock.now() - heardAt >= ttl || (yield* isGone(worker))) return true
      await next()
      if (signal.aborted) return yield modelAborted(signal)
    }
  } finally {
    over.abort()
  }
}
