import { z } from 'zod'
import type { DeepReadonly } from '../../events/events.ts'

// A request that another program sent and recorded is not rendered: its receipt says of which events each of its messages consists
// (docs/adr/0060-receipts-of-recorded-requests.md).

/** Number of recorded requests in place of a renderer's version. It is higher than any version, so older programs ask for an upgrade. */
export const recordedRenderer = 1_000

const count = z.int().min(0)

/** Texts that programs put between the texts that they join. Nothing else of a request is in a receipt: its texts are in events only. */
export const glue = /^(?:\s|<\/?system-reminder>)*$/

/** A part of a text: glue, or a slice of a text block: the position of its event, its index, start and end (exclusive). */
const pieceSchema = z.union([z.string().regex(glue), z.tuple([count, count, count, count])])

/** A block of an event, by position and index, or a text made of pieces. */
const blockSchema = z.union([z.tuple([count, count]), z.strictObject({ text: z.array(pieceSchema) })])

/** A message that has the blocks of one or more events, in order, or one made of parts of events. */
const messageSchema = z.union([
  z.strictObject({ items: z.array(count).min(1), string: z.literal(true).exactOptional() }),
  z.strictObject({
    role: z.enum(['user', 'assistant', 'system']),
    content: z.array(blockSchema),
    /** Fields other than role and content. */
    fields: z.strictObject({ output_config: z.strictObject({ effort: z.string() }) }).exactOptional(),
    /** True if the content was sent as a string, which only a text without a cache breakpoint can be. */
    string: z.literal(true).exactOptional(),
  }),
])

export const recordedSchema = z.strictObject({
  /** Position of an earlier reply with a recorded request, whose first `keep` messages this request has, too. */
  base: count.exactOptional(),
  keep: count.exactOptional(),
  /** The messages after those. */
  messages: z.array(messageSchema),
  /** Cache breakpoints of the request, by path. */
  cache: z
    .array(
      z.strictObject({
        path: z.array(z.union([z.string(), count])).min(1),
        value: z.record(z.string(), z.string()),
      }),
    )
    .exactOptional(),
})

/** Composition of a recorded request. */
export type RecordedRequest = DeepReadonly<z.infer<typeof recordedSchema>>
export type RecordedMessage = RecordedRequest['messages'][number]
export type RecordedBlock = DeepReadonly<z.infer<typeof blockSchema>>
