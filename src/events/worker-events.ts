import { z } from 'zod'
import { type Codec, codecOf, type FactOf } from './facts.ts'

// What a worker says of itself, in a stream of its own: one for all conversations that it serves (ADR 26).

const count = z.int().min(0)
const by = z.string().min(1)

/** Schemas of the data of a worker's events. */
const workerSchemas = {
  /** The worker is alive, and has taken `busy` steps for its `slots`. `standby`: it only takes over from workers that died. */
  WorkerBeat: z.object({ slots: count, busy: count, standby: z.literal(true).optional() }),
  /** The worker has ended, as reported by someone who knows. */
  WorkerStopped: z.object({ reason: z.string().optional() }),
  /** The worker begins no step until it is resumed, as someone requested. */
  WorkerPaused: z.object({ by, reason: z.string().optional() }),
  WorkerResumed: z.object({ by, reason: z.string().optional() }),
}

export type WorkerFact = FactOf<typeof workerSchemas, keyof typeof workerSchemas>

export const workerCodec: Codec<typeof workerSchemas> = codecOf(workerSchemas)

/** Actor kind of a fork in which a model is called again: workers that answer everything that awaits the model ignore it. */
export const counterfactualActor = 'counterfactual'
