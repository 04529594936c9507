import { z } from 'zod'
import { type Codec, codecOf, type FactOf } from './facts.ts'

// What a worker says of itself, in a stream of its own: one for all conversations that it serves (ADR 26).

const count = z.int().min(0)
const by = z.string().min(1)

/** The schema of the data of a worker's events. */
const workerSchemas = {
  /** The worker lives, and has taken so many steps of as many as it has slots for. `standby`: it only takes what others have died of. */
  WorkerBeat: z.object({ slots: count, busy: count, standby: z.literal(true).optional() }),
  /** It has ended: whoever knows that says so. */
  WorkerStopped: z.object({ reason: z.string().optional() }),
  /** It begins no step until it is resumed: somebody said so. */
  WorkerPaused: z.object({ by, reason: z.string().optional() }),
  WorkerResumed: z.object({ by, reason: z.string().optional() }),
}

export type WorkerFact = FactOf<typeof workerSchemas, keyof typeof workerSchemas>

export const workerCodec: Codec<typeof workerSchemas> = codecOf(workerSchemas)

/** The kind of who begins a fork in which a model is asked again: workers that answer whatever awaits the model leave it alone. */
export const counterfactualActor = 'counterfactual'
