import { z } from 'zod'
import { type Block, blockSchema } from './blocks.ts'
import { hasNoEffect } from './event-traits.ts'
import type { EventData, EventType, Message, MessageAppendedData, Metadata } from './event-types.ts'
import { conversationIdSchema } from './ids.ts'
import type { Fields } from './json.ts'

export type {
  Actor,
  AnswerFlag,
  AnswerTerms,
  Configuration,
  Container,
  Covers,
  EventData,
  EventType,
  Message,
  Metadata,
  EstimatedUsage,
  Origin,
  Policy,
  Receipt,
  Role,
  Segment,
  Span,
  TokenChange,
  View,
  Workspace,
} from './event-types.ts'

// Schemas of all events; event-types.ts describes the fields. The schemas only check; the given value itself is stored, including its
// unknown fields.

/** The position before a conversation's first event. */
export const START = -1

/** The type `T`, read-only at all depths. Blocks and unknown values stay unchanged, because they already are read-only. */
export type DeepReadonly<T> = unknown extends T
  ? T
  : T extends Block | string | number | boolean | null | undefined
    ? T
    : { readonly [K in keyof T]: DeepReadonly<T[K]> }

const position = z.int().min(0)
const count = z.int().min(0)
// Erasure will seal an event's content and keep its envelope. The key is reserved from the first release on.
const sealed = z.never({ error: 'the key "sealed" is reserved' }).optional()

export const messageSchema = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.array(blockSchema),
})

export const receiptSchema = z.object({
  position: z.int().min(START),
  digest: z.string().regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256 in hex' }),
  options: z.record(z.string(), z.unknown()),
})

export const originSchema = z.object({
  model: z.string().optional(),
  stopReason: z.string().nullable().optional(),
  usage: z.record(z.string(), z.unknown()).optional(),
  estimated: z.object({ input: count, output: count }).optional(),
  requestId: z.string().optional(),
  context: receiptSchema.optional(),
  message: z.unknown().optional(),
  failed: z.unknown().optional(),
  condenseFailed: z.object({ error: z.string(), window: count }).optional(),
  starts: z.string().optional(),
})

export const coversSchema = z.object({ first: position, last: position })

const viewSchema = z.object({
  items: z.array(z.union([coversSchema, z.object({ marker: position })])),
  configured: position.optional(),
  promptSince: position.optional(),
  toolsFrom: z.int().min(START).optional(),
  restored: z.array(z.object({ after: position, before: position })).optional(),
})

export const policySchema = z.object({
  of: z.enum(['context', 'result']),
  used: count,
  allowed: count,
  position: z.int().min(START).optional(),
  settings: z.record(z.string(), z.unknown()).optional(),
  options: z.record(z.string(), z.unknown()).optional(),
  said: count.optional(),
  failed: z.string().optional(),
  learned: z.object({ model: z.string().optional(), actual: count, estimated: count }).optional(),
})

const markerShape = {
  covers: coversSchema,
  messagesHidden: count,
  tokens: z.object({ before: count, after: count }),
  container: z.object({ position, id: z.string(), expires_at: z.string().optional() }).optional(),
  policy: policySchema.optional(),
  view: viewSchema.optional(),
}

const erasedSchema = z.object({
  ranges: z.array(coversSchema),
  forms: z.string().regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256 in hex' }),
})

/** Schemas of the data of every event type. */
export const dataSchemas = {
  MessageAppended: messageSchema.extend({
    messageId: z.string().min(1).optional(),
    origin: originSchema.optional(),
    sealed,
  }),
  Condensed: z.object({
    ...markerShape,
    summary: z.array(messageSchema).min(1),
    method: z.enum(['model', 'provider', 'client', 'manual']),
    origin: originSchema.optional(),
    sealed,
  }),
  Truncated: z.object({ ...markerShape, reason: z.string().optional() }),
  Restored: z.object({ marker: position, view: viewSchema.optional() }),
  Rewound: z.object({ to: z.int().min(START), reason: z.string().optional() }),
  Configured: z.object({
    system: z.union([z.string(), z.array(blockSchema)]).optional(),
    tools: z.array(z.record(z.string(), z.unknown())).optional(),
    model: z.string().min(1).optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    sealed,
  }),
  Forked: z.object({
    from: z.object({ conversation: conversationIdSchema, position, hash: z.string().min(1) }),
  }),
  Erased: z.object({
    events: erasedSchema.optional(),
    notes: erasedSchema.optional(),
    turns: erasedSchema.optional(),
    inbox: erasedSchema.optional(),
    archive: erasedSchema.optional(),
    by: z.string().min(1).optional(),
    reason: z.string().optional(),
  }),
}

/** Matches a time in ISO 8601, UTC, with milliseconds, as written by `Date.toISOString`. */
export const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Schemas of the fields of a request for an answer. */
export const askingShape = {
  tenant: z.string().min(1).max(200).optional(),
  priority: z.int().min(0).max(9).optional(),
}
export const askedSchema = z.union([z.literal(true), z.strictObject(askingShape)], {
  error: 'must be true, or { tenant, priority }',
})

/** Matches a salt: 16 bytes in base64url. */
export const saltForm = /^[\w-]{22}$/

/** Matches the hash of a commit, which may be shortened to 7 digits. */
export const commitForm = /^[0-9a-f]{7,64}$/
export const workspaceSchema = z.strictObject({
  kind: z.literal('git'),
  commit: z.string().regex(commitForm, { error: 'must be the hash of a commit: 7 to 64 digits of 0–9 a–f' }),
  dirty: z.literal(true).optional(),
})

export const metadataSchema = z.object({
  salt: z.string().regex(saltForm, { error: 'must be 16 bytes in base64url' }).optional(),
  schema: z.int().min(1),
  time: z.string().regex(isoTime, { error: 'must be a time such as 2026-01-31T12:00:00.000Z' }),
  actor: z.object({ kind: z.string().min(1), id: z.string().optional() }),
  commandId: z.string().min(1),
  $correlationId: z.string().optional(),
  $causationId: z.string().optional(),
  interrupts: z.literal(true).optional(),
  answer: askedSchema.optional(),
  workspace: workspaceSchema.optional(),
  prev: z.string().nullable(),
  erased: z
    .object({
      time: z.string().regex(isoTime, { error: 'must be a time such as 2026-01-31T12:00:00.000Z' }),
      stub: z.string(),
    })
    .optional(),
  sealed,
})

/** An event, tagged on `type`, without its position, id and metadata. */
export type Event<T extends EventType = EventType> = { readonly [K in T]: EventOf<K> }[T]

/** An event of one type. */
export interface EventOf<T extends EventType> {
  readonly type: T
  readonly data: EventData[T]
}

/** An event of a conversation, with its position, id and metadata. */
export type ConversationEvent<T extends EventType = EventType> = {
  readonly [K in T]: ConversationEventOf<K>
}[T]

/** An event of a conversation, of one type. */
export interface ConversationEventOf<T extends EventType> extends EventOf<T> {
  /** 0-based index in the conversation's lineage. */
  readonly position: number
  readonly id: string
  readonly metadata: Metadata
}

/**
 * Returns the messages in an event: one for a `MessageAppended`, the summary for a `Condensed`; empty for any other event. All code
 * reads content through this function, so that erasure can be implemented in a single place.
 */
export const contentOf = (event: Event): readonly Message[] => {
  if (hasNoEffect(event)) return []
  switch (event.type) {
    case 'MessageAppended':
      return [messageOf(event)]
    case 'Condensed':
      return event.data.summary
    case 'Truncated':
    case 'Restored':
    case 'Rewound':
    case 'Configured':
      return []
  }
}

const ownFields = new Set(['role', 'content', 'messageId', 'origin', 'sealed'])

/**
 * Returns the fields of a recorded message that only its API or its program knows, such as `output_config`; undefined if it has none.
 */
export const otherFieldsOf = (message: Message): Fields | undefined => {
  for (const name in message)
    if (!ownFields.has(name))
      return Object.fromEntries(Object.entries(message).filter(([each]) => !ownFields.has(each)))
  return undefined
}

/** Returns the fields of a message that people read: all but `item`, with which a framework makes its own message again. */
export const readableFields = (fields: Fields = {}): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(fields).filter(([name]) => name !== 'item')

/** Returns the message of an event, with all its recorded data. `contentOf` returns the same message. */
export const messageOf = ({ data }: Event<'MessageAppended'>): MessageAppendedData => data
