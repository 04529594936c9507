import type * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { encodeAs, type StoredEvent } from './codec.ts'
import type { EventTooLarge, InvalidInput } from './errors.ts'
import type { Metadata } from './events.ts'

// What a worker says of itself, in a stream of its own: one for all conversations that it serves (ADR 26).

const count = z.int().min(0)
const by = z.string().min(1)

/** The schema of the data of a worker's events. */
export const workerSchemas = {
  /** The worker lives, and has taken so many steps of as many as it has slots for. */
  WorkerBeat: z.object({ slots: count, busy: count }),
  /** It has ended: whoever knows that says so. */
  WorkerStopped: z.object({ reason: z.string().optional() }),
  /** It begins no step until it is resumed: somebody said so. */
  WorkerPaused: z.object({ by, reason: z.string().optional() }),
  WorkerResumed: z.object({ by }),
}

type WorkerEventType = keyof typeof workerSchemas

/** What a worker says of itself, tagged on `type`. */
export type WorkerFact = {
  readonly [T in WorkerEventType]: {
    readonly type: T
    readonly data: Readonly<z.infer<(typeof workerSchemas)[T]>>
  }
}[WorkerEventType]

/** As `encode` of the codec. */
export const encodeWorkerFact = (
  fact: WorkerFact,
  id: string,
  metadata: Omit<Metadata, 'schema'>,
): E.Either<InvalidInput | EventTooLarge, StoredEvent> =>
  encodeAs(workerSchemas[fact.type], fact, id, metadata)
