import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'
import { eventData, eventType } from './history.ts'
import { awaits, count, position } from './parts.ts'

// Response schemas for commands, dry runs, notes and links.

export const writtenShape = z
  .looseObject({
    conversation: conversationIdSchema,
    position,
    events: z.array(z.looseObject({ position, id: z.string(), type: eventType })),
  })
  .meta({ id: 'Written' })

const shown = z.object({
  items: count,
  tokens: count,
  estimated: count.describe('Number of tokens that are estimated, because the API did not count them'),
  awaits,
  repairs: z.record(z.string(), count).describe('Number of repairs that the request needs, by kind'),
})
export const previewShape = z
  .looseObject({
    conversation: conversationIdSchema,
    position: position.describe('The last position, to send as `after`'),
    events: z.array(z.looseObject({ type: eventType, data: eventData })),
    before: shown,
    after: shown,
  })
  .meta({
    id: 'Preview',
    description: 'The events that a command would write, and what the model would see after them',
  })

export const noteShape = z
  .looseObject({ conversation: z.string(), kind: z.string(), data: z.unknown().optional(), at: position })
  .meta({ id: 'Note' })
export const linkShape = z
  .looseObject({
    from: z.string(),
    relation: z.string(),
    conversation: z.string().optional().describe('The linked conversation, if it is known'),
    call: z.string().optional().describe('Id of a tool call in the linked conversation'),
    at: position,
  })
  .meta({ id: 'Link' })

export const recordedShape = z
  .looseObject({ status: z.literal('recorded'), conversation: z.string(), position })
  .meta({ id: 'Recorded' })
export const queuedShape = z
  .looseObject({ status: z.literal('queued'), conversation: z.string(), id: z.string() })
  .meta({ id: 'Queued' })
