import { z } from 'zod'
import { type Codec, codecOf, type FactOf } from './facts.ts'

// Reports of a worker about itself, in its own stream: one for all conversations that it serves (ADR 26).

const count = z.int().min(0)
const by = z.string().min(1)

const workerSchemas = {
  /**
   * The worker is alive and works on `busy` steps, of at most `slots` at a time. With `standby`, it only takes over from workers that
   * died.
   */
  WorkerBeat: z.object({ slots: count, busy: count, standby: z.literal(true).optional() }),
  /** The worker has ended. The worker itself reports this, or a person or program that knows that the worker's process has ended. */
  WorkerStopped: z.object({ reason: z.string().optional() }),
  /** The worker must begin no step until it is resumed. */
  WorkerPaused: z.object({ by, reason: z.string().optional() }),
  WorkerResumed: z.object({ by, reason: z.string().optional() }),
}

export type WorkerFact = FactOf<typeof workerSchemas, keyof typeof workerSchemas>

export const workerCodec: Codec<typeof workerSchemas> = codecOf(workerSchemas)

/**
 * Actor kind of a fork in which a model is called again for comparison. Workers that answer every conversation awaiting the model
 * ignore such a fork.
 */
export const counterfactualActor = 'counterfactual'
