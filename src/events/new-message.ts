import { z } from 'zod'
import { type Block, blockSchema } from './blocks.ts'
import type { MessageAppendedData, Policy } from './event-types.ts'
import { dataSchemas, messageSchema, originSchema, policySchema } from './events.ts'

/** A message to be appended. */
export interface NewMessage extends Omit<MessageAppendedData, 'content'> {
  readonly content: NewContent
  /** Content shown to the model in place of the message: an edit (`Condensed`), recorded in the same write. */
  readonly shown?: MessageSubstitute | undefined
}
/** Content of a message: blocks, or a string as shorthand for one text block. */
export type NewContent = string | readonly Block[]
/** Content shown to the model in place of a message. */
export interface MessageSubstitute {
  readonly content: NewContent
  readonly policy?: Policy | undefined
}

export const newContent = z.union([z.string(), z.array(blockSchema)])

export const newMessage = z.object({
  role: messageSchema.shape.role,
  content: newContent,
  messageId: z.string().min(1).optional(),
  origin: originSchema.optional(),
  sealed: dataSchemas.MessageAppended.shape.sealed,
  shown: z.strictObject({ content: newContent, policy: policySchema.optional() }).optional(),
})
