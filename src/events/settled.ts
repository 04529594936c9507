import { hash } from 'node:crypto'
import { z } from 'zod'
import type { DeepReadonly } from './events.ts'
import { type Codec, codecOf } from './facts.ts'

// What workers know at a place of the store, so that a new one need not read what comes before it (ADR 27).

const count = z.int().min(0)
const text = z.string().min(1)

/** A step as workers know it, without what depends on the clock of one of them. It may have more fields. */
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
  /** How long it has to wait from when this is read, in milliseconds. */
  waitMs: count.optional(),
  /** The last revision of the stream of the conversation's turns. */
  turnsAt: count.optional(),
})

/** What a worker last said, and when. */
const workerSchema = z.object({
  worker: text,
  heard: z.string(),
  slots: count.optional(),
  isPaused: z.boolean().optional(),
  isStandby: z.boolean().optional(),
})

/** What a tenant's steps came to in an hour, on a day or in a month. */
const spentSchema = z.object({
  tenant: z.string(),
  period: text,
  usage: z.object({
    input: z.number(),
    cacheRead: z.number(),
    cacheWrite: z.number(),
    output: z.number(),
    calls: count,
    /** US dollars; absent if a price is missing. */
    usd: z.number().optional(),
  }),
})

/** The schema of the data of a checkpoint of workers. */
export const settledSchema = z.object({
  /** What is known here is what the store's events up to there say. */
  checkpoint: text,
  /** Version of the rules by which it was found: a reader with others does not use it. */
  rules: z.int().min(1),
  /** What the ids of the conversations begin with: each once, in order. */
  conversations: z.array(z.string()),
  steps: z.array(stepSchema),
  workers: z.array(workerSchema),
  /** How many claims there were. */
  claims: count,
  /** The conversations of which workers begin no step. */
  paused: z.array(text).optional(),
  spending: z.array(spentSchema).optional(),
  /** 0-based index of this part: what is too long for one event is in several, one right after the other. */
  part: count,
  /** Another part follows. */
  continues: z.literal(true).optional(),
})

export type SettledData = DeepReadonly<z.infer<typeof settledSchema>>

const settledSchemas = { Settled: settledSchema }
export const settledCodec: Codec<typeof settledSchemas> = codecOf(settledSchemas)

const stream = 'workers-checkpoint'

/** The same prefixes in one form: in order, without those that begin with another. */
export const leastPrefixes = (prefixes: readonly string[]): readonly string[] =>
  [...new Set(prefixes)]
    .filter((one) => !prefixes.some((other) => other !== one && one.startsWith(other)))
    .toSorted()

/** The stream of the checkpoints of workers for these conversations. */
export const settledStreamOf = (conversations: readonly string[]): string => {
  const least = leastPrefixes(conversations)
  return least[0] === '' ? stream : `${stream}-${hash('sha1', JSON.stringify(least)).slice(0, 16)}`
}
