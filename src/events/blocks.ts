import { z } from 'zod'
import type { AnyBlock, Block, KnownBlocks, TextBlock, UnknownBlock } from './block-types.ts'

export type { AnyBlock, Block, BlockSource, TextBlock, ToolResultBlock } from './block-types.ts'

// The content blocks of the Anthropic Messages API. The schemas only check; the given value itself is stored. Therefore
// unknown fields and unknown block types survive verbatim (signatures and future block types depend on it).

const present = z.unknown().refine((value) => value !== undefined, { error: 'is required' })
const typed = z.object({ type: z.string().min(1) })

const shapes = {
  text: z.object({ text: z.string() }),
  image: z.object({ source: typed }),
  document: z.object({ source: typed }),
  // The API needs the signature, but sessions recorded with other models have none.
  thinking: z.object({ thinking: z.string(), signature: z.string().optional() }),
  redacted_thinking: z.object({ data: z.string() }),
  // `input` should be an object. A model's malformed input is stored unchanged; render wraps it in an object.
  tool_use: z.object({ id: z.string().min(1), name: z.string().min(1), input: present }),
  tool_result: z.object({
    tool_use_id: z.string().min(1),
    content: z.union([z.string(), z.array(typed)]).optional(),
    is_error: z.boolean().optional(),
  }),
  compaction: z.object({}),
}

/** Block types whose fields are checked. */
export type KnownBlockType = keyof typeof shapes
/** A block of a known type, with its fields. */
export type KnownBlock<T extends KnownBlockType = KnownBlockType> = KnownBlocks[T]

export const textBlock = (text: string): TextBlock => ({ type: 'text', text })

/**
 * Marks a block as having a type unknown to this version, so that it can be appended unchanged.
 *
 * @example
 * import { unknownBlock } from 'palimpsest'
 *
 * await chat.append({ role: 'user', content: [unknownBlock({ type: 'hologram', url: 'https://example.org/h' })] })
 */
export const unknownBlock = (block: AnyBlock): UnknownBlock => block as UnknownBlock

/** Reports whether a block has this known type. Required fields of known types are checked when a block is stored. */
export const isBlock = <T extends KnownBlockType>(block: AnyBlock, type: T): block is KnownBlocks[T] =>
  block.type === type

/** Reports whether the fields of blocks of this type are checked. */
export const isKnownBlockType = (type: string): boolean => shapeOf.has(type)

const shapeOf = new Map<string, z.ZodType>(Object.entries(shapes))

/** Schema of a block: a type, and the required fields if the type is known. */
export const blockSchema = typed.loose().superRefine((block, context) => {
  const issues = shapeOf.get(block.type)?.safeParse(block).error?.issues ?? []
  for (const { path, message } of issues) context.addIssue({ code: 'custom', path, message })
}) as z.ZodType<AnyBlock> as z.ZodType<Block>

/**
 * Reports whether a value is a block with the required fields of its type. Blocks nested in other blocks are stored without this check.
 */
export const isWellShaped = (value: unknown): value is Block => blockSchema.safeParse(value).success
