import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'
import { eventPartShape, eventShape, eventType } from './history.ts'
import { count, position } from './parts.ts'
import { problemShape } from './problem.ts'
import { happeningShape } from './turns.ts'

// Schemas of the messages of event streams. `data` is the JSON on the line `data:`.

const named = <T extends string, D extends z.ZodType>(event: T, data: D) =>
  z.object({ event: z.literal(event), data })
const problem = named('problem', problemShape)

/** Schema of a message in the event stream of a conversation. */
export const conversationMessage = z
  .union([
    z.object({ id: z.string(), event: eventType, data: eventPartShape }),
    named('caught-up', z.object({ position })),
    problem,
  ])
  .meta({ id: 'ConversationMessage', description: 'A message in the event stream of a conversation' })

/** Schema of a message in the event stream of a store. */
export const storeMessage = z
  .union([
    z.object({
      id: z.string(),
      event: eventType,
      data: z.object({ conversation: conversationIdSchema, event: eventShape }),
    }),
    z.object({ id: z.string().describe('A later place to continue from') }),
    problem,
  ])
  .meta({ id: 'StoreMessage', description: 'A message in the event stream of all conversations' })

const streams = z.enum(['tokens', 'events'])
const outcome = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.object({ outcome: z.literal(type), ...shape })
const text = z.string().optional()

/** Schema of a message in the stream of a turn. */
export const turnMessage = z
  .union([
    named(
      'asked',
      z.object({
        conversation: conversationIdSchema,
        position,
        commandId: z.string(),
        workers: count,
        streams,
        detail: z.string(),
      }),
    ),
    named('claimed', z.object({ worker: z.string(), attempt: count, streams })),
    named(
      'released',
      z.object({ worker: z.string(), reason: z.string(), error: text, waitMs: z.number().optional() }),
    ),
    z.object({ event: z.string().describe('The type of the live event'), data: happeningShape }),
    z.object({ id: z.string(), event: eventType, data: eventShape }),
    named(
      'outcome',
      z.union([
        outcome('done', {
          position: position.optional(),
          detail: text,
          stopReason: z.unknown().optional(),
          usage: z.unknown().optional(),
        }),
        outcome('waiting', { calls: z.array(z.looseObject({ call: z.string(), tool: z.string() })) }),
        outcome('parked', { attempts: count, errors: z.array(z.string()), error: text }),
        outcome('cancelled', { by: text, reason: text }),
        outcome('rewound', { position, to: position, reason: text }),
        outcome('unserved', { detail: z.string() }),
      ]),
    ),
    problem,
  ])
  .meta({ id: 'TurnMessage', description: 'A message in the stream of a turn' })
