import { z } from 'zod'
import type { AnyBlock, Block } from '../../events/blocks.ts'
import { messageSchema, originSchema } from '../../events/events.ts'

// Schemas that several responses share. They match the library's types. Responses may have further fields.

export const position = z.int().min(-1).describe('0-based; -1 is before the first event')
export const time = z.iso.datetime().describe('UTC')
export const count = z.int().min(0)

/** Schema of a content block. It checks the type only, as the block was validated when it was written. */
export const blockShape = z
  .looseObject({ type: z.string() })
  .meta({ id: 'Block' }) as z.ZodType<AnyBlock> as z.ZodType<Block>
export const message = z.looseObject({ role: messageSchema.shape.role, content: z.array(blockShape) })
export const origin = z.looseObject(originSchema.shape)

export const awaits = z
  .enum(['model', 'user', 'beginning'])
  .describe('The party whose turn it is; `beginning` if there is nothing to send yet')
