import { z } from 'zod'
import { coversSchema } from '../../events/events.ts'
import { conversationIdSchema } from '../../events/ids.ts'
import { blockShape, count, position } from './parts.ts'

const ofCall = { call: z.string(), tool: z.string() }
const answeredCall = { ...ofCall, ms: z.number(), content: z.union([z.string(), z.array(blockShape)]) }
const marked = { position, covers: coversSchema }
const happening = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.looseObject({ type: z.literal(type), ...shape })
/** Schema of a live event of a turn, as yielded by `chat.stream`. */
export const happeningShape = z
  .discriminatedUnion('type', [
    happening('text', { index: count, text: z.string() }),
    happening('thinking', { index: count, thinking: z.string() }),
    happening('tool-input', { index: count, ...ofCall, json: z.string() }),
    happening('tool-started', { ...ofCall, input: z.unknown() }),
    happening('tool-progress', { ...ofCall, text: z.string() }),
    happening('tool-ended', answeredCall),
    happening('tool-failed', answeredCall),
    happening('condensed', marked),
    happening('truncated', marked),
    happening('retrying', { error: z.looseObject({ _tag: z.string() }), wait: z.number(), try: z.number() }),
    happening('waiting', { why: z.string(), calls: z.array(z.looseObject(ofCall)) }),
    happening('reply', { position, content: z.array(blockShape) }),
    happening('held', { by: z.string() }),
  ])
  .meta({ id: 'TurnEvent', description: 'A live event of a turn' })
export const servedShape = z.strictObject({ conversation: conversationIdSchema, event: happeningShape })
