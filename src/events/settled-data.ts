import { hash } from 'node:crypto'
import { z } from 'zod'
import type { DeepReadonly } from './events.ts'
import { type Codec, codecOf } from './facts.ts'

// What workers know at a place of the store, so that a new one need not read what comes before it (ADR 27).

const count = z.int().min(0)
const text = z.string().min(1)

/** A step as workers know it, without anything that depends on one worker's clock. It may have further fields. */
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
  /** Milliseconds that it still has to wait, from when this is read. */
  waitMs: count.optional(),
  /** Last revision of the stream of the conversation's turns. */
  turnsAt: count.optional(),
})

/** Last report of a worker, and its time. */
const workerSchema = z.object({
  worker: text,
  heard: z.string(),
  slots: count.optional(),
  isPaused: z.boolean().optional(),
  isStandby: z.boolean().optional(),
})

/** Usage by a tenant's steps in an hour, on a day or in a month. */
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

/** Schema of the data of a workers' checkpoint. */
export const settledSchema = z.object({
  /** Place in the store through whose events this is derived. */
  checkpoint: text,
  /** Version of the rules by which it was derived: readers with other rules ignore it. */
  rules: z.int().min(1),
  /** Prefixes of the ids of the conversations, deduplicated and in order. */
  conversations: z.array(z.string()),
  steps: z.array(stepSchema),
  workers: z.array(workerSchema),
  /** Number of claims. */
  claims: count,
  /** Conversations in which workers begin no step. */
  paused: z.array(text).optional(),
  spending: z.array(spentSchema).optional(),
  /** 0-based index of this part: a checkpoint too long for one event is split over several consecutive ones. */
  part: count,
  /** True if another part follows. */
  continues: z.literal(true).optional(),
})

export type SettledData = DeepReadonly<z.infer<typeof settledSchema>>

const settledSchemas = { Settled: settledSchema }
export const settledCodec: Codec<typeof settledSchemas> = codecOf(settledSchemas)

const stream = 'workers-checkpoint'

/** Normalizes prefixes: in order, without those that begin with another one. */
export const leastPrefixes = (prefixes: readonly string[]): readonly string[] =>
  [...new Set(prefixes)]
    .filter((one) => !prefixes.some((other) => other !== one && one.startsWith(other)))
    .toSorted()

/** Returns the stream of the checkpoints of workers for these conversations. */
export const settledStreamOf = (conversations: readonly string[]): string => {
  const least = leastPrefixes(conversations)
  return least[0] === '' ? stream : `${stream}-${hash('sha1', JSON.stringify(least)).slice(0, 16)}`
}
