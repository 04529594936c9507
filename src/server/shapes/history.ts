import { z } from 'zod'
import { type ConversationEvent, coversSchema, dataSchemas, metadataSchema } from '../../events/events.ts'
import { awaits, count, message, origin, position, time } from './parts.ts'

// Response schemas for events and for the histories derived from them.

const cuts = z
  .array(z.object({ block: count, field: z.string(), length: count, omitted: z.literal(true).optional() }))
  .optional()
  .describe(
    'With `clip`: the fields that were cut, with their full length; `omitted` if values were left out of the field, or the field with those after it',
  )
const blocks = count
  .optional()
  .describe('With `clip`: the number of blocks in the whole event, if its last blocks were left out')
const clipped = { cuts, blocks }

/** Schema of the data of an event. It accepts any fields, as the data was validated by type when it was written. */
export const eventData = z.looseObject({})
export const eventType = z.enum(Object.keys(dataSchemas) as [keyof typeof dataSchemas])
const recorded = z.looseObject({
  position,
  id: z.string(),
  type: eventType,
  data: eventData,
  metadata: z.looseObject(metadataSchema.omit({ sealed: true }).shape),
  ...clipped,
} satisfies Readonly<Record<keyof ConversationEvent | keyof typeof clipped, z.ZodType>>)
type EventAnswer = ConversationEvent & Pick<z.output<typeof recorded>, keyof typeof clipped>

const ofType = (type: keyof typeof dataSchemas) =>
  recorded.extend({ type: z.literal(type), data: z.looseObject(dataSchemas[type].shape) }).meta({ id: type })
/** Schema of an event, with the data of each type. */
export const eventShape = z
  .union(eventType.options.map(ofType))
  .meta({ id: 'Event', description: 'A recorded event, tagged on `type`' }) as z.ZodType<EventAnswer>

const placed = {
  position,
  time,
  erased: time.optional().describe('Time at which the content was erased, in UTC; absent if it was not'),
}
const marker = {
  ...placed,
  covers: coversSchema,
  messagesHidden: count,
  tokens: z.object({ before: count, after: count }),
  policy: dataSchemas.Condensed.shape.policy,
}
const messageItem = z.looseObject({
  kind: z.literal('message'),
  ...placed,
  messageId: z.string(),
  role: message.shape.role,
  content: message.shape.content,
  fields: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Fields that only the API or program of the message knows, such as `output_config`'),
  ...clipped,
  origin: origin.optional(),
})
const summaryItem = z.looseObject({
  kind: z.literal('summary'),
  ...marker,
  messages: z.array(message),
  ...clipped,
  method: dataSchemas.Condensed.shape.method,
})
const truncationItem = z.looseObject({
  kind: z.literal('truncation'),
  ...marker,
  reason: z.string().optional(),
})
export const itemShape = z.discriminatedUnion('kind', [messageItem, summaryItem, truncationItem]).meta({
  id: 'Item',
  description: 'An item that the model sees: a message, or a summary or truncation that replaces several',
})

export const eventPartShape = recorded.partial({ id: true, type: true, data: true, metadata: true }).meta({
  id: 'EventPart',
  description: 'An event; with `fields`, only these fields',
}) as z.ZodType<EventAnswer>

export const fateShape = {
  status: z.enum(['active', 'condensed', 'truncated', 'restored', 'abandoned']),
  by: position.optional().describe('Position of the event that caused this status'),
}
export const entryShape = z
  .discriminatedUnion('kind', [
    messageItem.extend(fateShape),
    summaryItem.extend(fateShape),
    truncationItem.extend(fateShape),
  ])
  .meta({ id: 'Entry', description: 'An entry of the full history, with its status' })

export const repairShape = z.looseObject({ kind: z.string(), position, detail: z.string() })
export const requestShape = z
  .looseObject({
    at: position,
    system: z.unknown().optional(),
    tools: z.unknown().optional(),
    messages: z.array(z.looseObject({ role: z.string() })),
    awaits,
    repairs: z.array(repairShape),
  })
  .meta({ id: 'Rendered', description: 'The request that the model would be sent' })
