import { z } from 'zod'
import { count, position } from './parts.ts'

// Response schemas for waiting calls, steps and workers.

export const awaitedShape = z
  .looseObject({
    call: z.string(),
    tool: z.string(),
    input: z.unknown().optional(),
    why: z.enum(['approval', 'handed-back']),
    reply: position,
    since: z.string(),
    started: z.string().optional(),
  })
  .meta({ id: 'Awaited' })
export const decidedShape = z
  .looseObject({
    conversation: z.string(),
    call: z.string(),
    decision: z.enum(['approved', 'denied', 'withdrawn']),
    by: z.string(),
  })
  .meta({ id: 'Decided' })

export const stepShape = z
  .looseObject({
    conversation: z.string(),
    state: z.enum(['open', 'claimed', 'waiting', 'parked']),
    held: z
      .enum(['paused', 'budget', 'limit'])
      .optional()
      .describe('Reason why no worker takes the step although it is open'),
    step: z.string(),
    since: z.string(),
    attempt: count,
    nextTry: z.string().optional().describe('Time at which workers may try the open step again'),
    holder: z.string().optional(),
    errors: z.array(z.string()),
    tenant: z.string().optional(),
    priority: z.number().optional(),
  })
  .meta({ id: 'Step' })
export const workerShape = z
  .looseObject({
    worker: z.string(),
    heard: z.string(),
    slots: count.optional(),
    paused: z.boolean(),
    steps: z.array(
      z.looseObject({
        conversation: z.string(),
        step: z.string(),
        attempt: count,
        since: z.string(),
        tenant: z.string().optional(),
        priority: z.number().optional(),
      }),
    ),
  })
  .meta({ id: 'Worker' })
