import { hash } from 'node:crypto'
import { z } from 'zod'
import type { DeepReadonly } from './events.ts'
import { type Codec, codecOf } from './facts.ts'

// State of the workers at a checkpoint of the store, so that a new worker need not read the events before it (ADR 27).

const count = z.int().min(0)
const text = z.string().min(1)

/** Schema of a step, without anything that depends on one worker's clock. A step may have further fields. */
const stepSchema = z.object({
  conversation: text,
  name: text,
  stage: z.enum(['open', 'waiting', 'parked', 'over']),
  asking: z.object({ tenant: z.string().optional(), priority: z.number().optional() }),
  begunBy: text,
  attempt: z.int().min(1),
  errors: z.array(z.string()),
  deaths: count.optional(),
  since: z.string(),
  hasMail: z.boolean(),
  /** Remaining wait in milliseconds, counted from the time at which the checkpoint is read. */
  waitMs: count.optional(),
  /** Last revision of the stream of the conversation's turn events. */
  turnsAt: count.optional(),
})

/** Schema of a worker's last report, with its time. */
const workerSchema = z.object({
  worker: text,
  heard: z.string(),
  slots: count.optional(),
  isPaused: z.boolean().optional(),
  isStandby: z.boolean().optional(),
})

/** Schema of the usage of a tenant's steps in an hour, a day or a month. */
const spentSchema = z.object({
  tenant: z.string(),
  period: text,
  usage: z.object({
    input: z.number(),
    cacheRead: z.number(),
    cacheWrite: z.number(),
    output: z.number(),
    calls: count,
    /** Cost in US dollars; absent if a price is missing. */
    usd: z.number().optional(),
  }),
})

/** Schema of the data of a checkpoint written by workers. */
export const settledSchema = z.object({
  /** Checkpoint of the last event from which this state is derived. */
  checkpoint: text,
  /** Version of the rules by which this state is derived. Readers with other rules ignore it. */
  rules: z.int().min(1),
  /** Prefixes of the ids of the conversations that the workers serve, deduplicated and sorted. */
  conversations: z.array(z.string()),
  steps: z.array(stepSchema),
  workers: z.array(workerSchema),
  claims: count,
  /** Paused conversations, in which workers begin no step. */
  paused: z.array(text).optional(),
  spending: z.array(spentSchema).optional(),
  /** 0-based index of this part. A checkpoint too long for one event is split over several consecutive events. */
  part: count,
  /** True if another part follows. */
  continues: z.literal(true).optional(),
})

export type SettledData = DeepReadonly<z.infer<typeof settledSchema>>

const settledSchemas = { Settled: settledSchema }
export const settledCodec: Codec<typeof settledSchemas> = codecOf(settledSchemas)

const stream = 'workers-checkpoint'

/** Sorts prefixes and removes those that begin with another one. */
export const leastPrefixes = (prefixes: readonly string[]): readonly string[] =>
  [...new Set(prefixes)]
    .filter((one) => !prefixes.some((other) => other !== one && one.startsWith(other)))
    .toSorted()

/** Returns the stream of the checkpoints of workers that serve conversations with these prefixes. */
export const settledStreamOf = (conversations: readonly string[]): string => {
  const least = leastPrefixes(conversations)
  return least[0] === '' ? stream : `${stream}-${hash('sha1', JSON.stringify(least)).slice(0, 16)}`
}
