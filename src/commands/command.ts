import { z } from 'zod'
import { blockSchema } from '../events/blocks.ts'
import {
  coversSchema,
  messageSchema,
  originSchema,
  policySchema,
  START,
  dataSchemas,
} from '../events/events.ts'
import { conversationIdSchema } from '../events/ids.ts'
import { newContent, newMessage } from '../events/new-message.ts'
import type { CommandType, Selection } from './command-types.ts'

export type { NewMessage } from '../events/new-message.ts'
export type { Command, CommandType, ConversationCommand, Selection, Summary } from './command-types.ts'

// Schemas of the commands on a conversation, which also report mistakes in JavaScript and JSON. The types describe the fields.

const position = z.int().min(0)
const positionOrStart = z.int().min(START)

const selection = {
  fraction: z.number().gt(0).max(1).optional(),
  keepFirst: z.int().min(0).optional(),
  keepLast: z.int().min(0).optional(),
  keepTokens: z.int().min(0).optional(),
  covers: coversSchema.optional(),
}

const fence = {
  after: positionOrStart.optional(),
  tolerate: z.literal('markers').optional(),
}

const summary = z.union([
  z.string().regex(/\S/, { error: 'a summary needs text' }),
  z.array(z.object({ role: messageSchema.shape.role, content: newContent })).min(1),
  z.array(blockSchema).min(1),
])

const carriedSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('Configured'), data: dataSchemas.Configured }),
  z.strictObject({ type: z.literal('Condensed'), data: dataSchemas.Condensed }),
  z.strictObject({ type: z.literal('Truncated'), data: dataSchemas.Truncated }),
  z.strictObject({ type: z.literal('Restored'), data: dataSchemas.Restored }),
])

/** Reports whether a selection specifies its slice in only one way: explicitly, or by how much to keep. */
const isOneSlice = ({ covers, fraction, keepFirst, keepLast, keepTokens }: Selection): boolean =>
  covers === undefined || [fraction, keepFirst, keepLast, keepTokens].every((given) => given === undefined)
const oneSlice = {
  path: ['covers'],
  error: 'cannot be combined with fraction, keepFirst, keepLast or keepTokens',
}

export const commandSchemas = {
  append: z.strictObject({
    ...fence,
    messages: z.array(newMessage).min(1),
    branchAt: positionOrStart.optional(),
    rewindTo: positionOrStart.optional(),
    again: z.array(carriedSchema).optional(),
  }),
  configure: z.strictObject({
    ...fence,
    system: dataSchemas.Configured.shape.system.nullable(),
    tools: dataSchemas.Configured.shape.tools.nullable(),
    model: dataSchemas.Configured.shape.model.nullable(),
    parameters: dataSchemas.Configured.shape.parameters.nullable(),
  }),
  condense: z
    .strictObject({
      ...fence,
      ...selection,
      summary,
      method: dataSchemas.Condensed.shape.method.optional(),
      origin: originSchema.optional(),
      policy: policySchema.optional(),
    })
    .refine(isOneSlice, oneSlice),
  truncate: z
    .strictObject({
      ...fence,
      ...selection,
      reason: z.string().optional(),
      policy: policySchema.optional(),
    })
    .refine(isOneSlice, oneSlice),
  restore: z.strictObject({ ...fence, marker: position }),
  rewind: z
    .strictObject({
      ...fence,
      to: positionOrStart.optional(),
      before: position.optional(),
      turns: z.int().min(1).optional(),
      reason: z.string().optional(),
    })
    .refine(
      ({ to, before, turns }) => [to, before, turns].filter((given) => given !== undefined).length === 1,
      {
        error: 'specify where to rewind to: exactly one of to, before, turns',
      },
    ),
  undo: z.strictObject({ ...fence, reason: z.string().optional() }),
  fork: z.strictObject({
    id: conversationIdSchema,
    at: position.optional(),
  }),
} satisfies { readonly [T in CommandType]: z.ZodType }
