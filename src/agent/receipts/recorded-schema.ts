import { z } from 'zod'
import type { DeepReadonly } from '../../events/events.ts'

// A request that another program sent and recorded is not rendered: its receipt says of which events each of its messages consists
// (docs/adr/0060-receipts-of-recorded-requests.md).

/** Number of recorded requests in place of a renderer's version. It is higher than any version, so older programs ask for an upgrade. */
export const recordedRenderer = 1_000

const count = z.int().min(0)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

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

/** The first block of Claude Code's system prompt, which differs in every request and says nothing to the model. */
export const billing = /^x-anthropic-billing-header:[\x20-\x7e]{0,500}$/

/** APIs other than the Messages API whose requests are recorded. A message has one block with the item or message as it was sent. */
export const otherApis = ['chat-completions', 'responses'] as const

/** Form of a request's body, from which its bytes are made again. Only a recorder knows it. */
const bodySchema = z.strictObject({
  /** The API, if it is not the Messages API. */
  api: z.enum(otherApis).exactOptional(),
  /** Names of the fields of the body, in order. */
  fields: z.array(z.string()),
  billing: z.string().regex(billing).exactOptional(),
  /**
   * SHA-256 (hex) of the history's key and of the SHA-256 of the body, without the ids of accounts. Absent if the body was not written
   * as `JSON.stringify` does, so that only its content can be made again.
   */
  sha256: sha256.exactOptional(),
})

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
  body: bodySchema.exactOptional(),
})

/** Composition of a recorded request. */
export type RecordedRequest = DeepReadonly<z.infer<typeof recordedSchema>>
export type RecordedBody = DeepReadonly<z.infer<typeof bodySchema>>
export type RecordedMessage = RecordedRequest['messages'][number]
export type RecordedBlock = DeepReadonly<z.infer<typeof blockSchema>>
