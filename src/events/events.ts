import { z } from 'zod'
import { type Block, blockSchema } from './blocks.ts'
import { conversationIdSchema } from './ids.ts'

// Every event of the model. The schemas only check: what is stored is the value that was given, unknown fields included.

/** The position before a conversation's first event. */
export const START = -1

/** Read-only all the way down; blocks and unknown values are so as they are. */
export type DeepReadonly<T> = unknown extends T
  ? T
  : T extends Block | string | number | boolean | null | undefined
    ? T
    : { readonly [K in keyof T]: DeepReadonly<T[K]> }

const position = z.int().min(0)
const count = z.int().min(0)
// Erasure will seal an event's content and keep its envelope; the key is spoken for from the first release on.
const sealed = z.never({ error: 'the key "sealed" is reserved' }).optional()

export const messageSchema = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  /** Verbatim, in order; may be empty. */
  content: z.array(blockSchema),
})

/** What a reply was the answer to: enough to make the request again from the log, and to prove that it is the same. */
export const receiptSchema = z.object({
  /** The conversation's last position when the request was made of its history. */
  position: z.int().min(START),
  /** SHA-256 (hex) of the canonical JSON (RFC 8785) of system, tools and messages as they were sent. */
  digest: z.string().regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256 in hex' }),
  /** How the request was made of the history. */
  options: z.record(z.string(), z.unknown()),
})

/** Where a message came from: the model's own account of the call, and what the model was sent. */
export const originSchema = z.object({
  model: z.string().optional(),
  stopReason: z.string().nullable().optional(),
  usage: z.record(z.string(), z.unknown()).optional(),
  requestId: z.string().optional(),
  context: receiptSchema.optional(),
  /** The other fields of the message in which the API answered (`id`, `container`, `stop_sequence`, …), those that are null left out. */
  message: z.unknown().optional(),
  /** The failed calls before this one: the error of each, and what the API counted for it. */
  failed: z.unknown().optional(),
  /** A condense that was tried right before this call and failed: its error (`_tag`), and the window of the context, in tokens. */
  condenseFailed: z.object({ error: z.string(), window: count }).optional(),
  /**
   * Its writer records which of its calls were started, in the stream of the conversation's turns that begins with the event of this id
   * (ADR 21). Without it, or in another stream, nobody knows of a call without a result whether it was started.
   */
  starts: z.string().optional(),
})

export const coversSchema = z.object({ first: position, last: position })

const viewSchema = z.object({
  items: z.array(z.union([coversSchema, z.object({ marker: position })])),
  /** Position of the `Configured` event in force. */
  configured: position.optional(),
  /** Position of the first `Configured` since which system, tools and model are the same. */
  promptSince: position.optional(),
  /** Where that one has no tools: position of the last `Configured` before it that had some, `START` if there is none. */
  toolsFrom: z.int().min(START).optional(),
  /** Spans in which every message was said while something was hidden that is shown again. */
  restored: z.array(z.object({ after: position, before: position })).optional(),
})

/** Why a turn wrote a marker by itself. */
export const policySchema = z.object({
  /** What was too large: the `context`, in tokens, or a tool `result`, in bytes. */
  of: z.enum(['context', 'result']),
  used: count,
  allowed: count,
  /** Of the context: the conversation's last position when it was counted, and all that decided besides the history there. */
  position: z.int().min(START).optional(),
  settings: z.record(z.string(), z.unknown()).optional(),
  options: z.record(z.string(), z.unknown()).optional(),
  /** Tokens said since the last attempt to condense, if there was one. */
  said: count.optional(),
  /** `_tag` of the error for which the context was truncated and not condensed. */
  failed: z.string().optional(),
  /** What the API, as it refused the context, counted of what had only been estimated. */
  learned: z.object({ model: z.string().optional(), actual: count, estimated: count }).optional(),
})

const markerShape = {
  covers: coversSchema,
  /** How many messages the marker hides, those under the markers that it covers included. */
  messagesHidden: count,
  /** Estimated tokens of the covered slice, and of what replaces it. */
  tokens: z.object({ before: count, after: count }),
  /** The newest container of code execution that it hides: the reply at `position` names it. */
  container: z.object({ position, id: z.string(), expires_at: z.string().optional() }).optional(),
  policy: policySchema.optional(),
  view: viewSchema.optional(),
}

/** The schema of every event type's data. */
export const dataSchemas = {
  /** A message was said. Without a `messageId`, the event's id is the message's. */
  MessageAppended: messageSchema.extend({
    messageId: z.string().min(1).optional(),
    origin: originSchema.optional(),
    sealed,
  }),
  /** A slice of the effective history is now shown as this summary. */
  Condensed: z.object({
    ...markerShape,
    summary: z.array(messageSchema).min(1),
    method: z.enum(['model', 'provider', 'client', 'manual']),
    origin: originSchema.optional(),
    sealed,
  }),
  /** A slice of the effective history is no longer shown. */
  Truncated: z.object({ ...markerShape, reason: z.string().optional() }),
  /** What the visible marker at that position hid is shown again in its place; later messages stay. */
  Restored: z.object({ marker: position, view: viewSchema.optional() }),
  /** The conversation is again what it was right after position `to` (`START`: empty). */
  Rewound: z.object({ to: z.int().min(START), reason: z.string().optional() }),
  /** What a request holds besides messages, from here on. Whole: a field left out is not set. */
  Configured: z.object({
    system: z.union([z.string(), z.array(blockSchema)]).optional(),
    tools: z.array(z.record(z.string(), z.unknown())).optional(),
    model: z.string().min(1).optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    sealed,
  }),
  /** First event of a fork: history begins as that conversation was right after that position. */
  Forked: z.object({
    from: z.object({ conversation: conversationIdSchema, position, hash: z.string().min(1) }),
  }),
}

/** ISO 8601, UTC, milliseconds: what `Date.toISOString` writes. */
export const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The metadata of every event. */
export const metadataSchema = z.object({
  /** Schema version that the data was written in; readers see the newest, through the upcasters. */
  schema: z.int().min(1),
  /** ISO 8601, UTC, milliseconds. */
  time: z.string().regex(isoTime, { error: 'is not a time like 2026-01-31T12:00:00.000Z' }),
  /** Who did it: a kind of the caller's own (`user`, `agent`, `import`), and which one. */
  actor: z.object({ kind: z.string().min(1), id: z.string().optional() }),
  commandId: z.string().min(1),
  $correlationId: z.string().optional(),
  $causationId: z.string().optional(),
  /** SHA-256 (hex) of the event before it in the stream; in a `Forked`, of the parent's event; null in a first event. */
  prev: z.string().nullable(),
  sealed,
})

export type Message = DeepReadonly<z.infer<typeof messageSchema>>
export type Role = Message['role']
export type Origin = DeepReadonly<z.infer<typeof originSchema>>
export type Receipt = DeepReadonly<z.infer<typeof receiptSchema>>
/** A slice of the effective history, by the positions of its first and last item, both included. */
export type Covers = DeepReadonly<z.infer<typeof coversSchema>>
/**
 * The effective history right after a marker event, as a table of contents. `{first, last}` stands for the messages that
 * the path has from one position through the other, `{marker}` for a summary or truncation.
 */
export type View = DeepReadonly<z.infer<typeof viewSchema>>
export type Policy = DeepReadonly<z.infer<typeof policySchema>>
export type Segment = View['items'][number]
/** The positions between two others, both excluded. */
export type Span = NonNullable<View['restored']>[number]
export type EventData = { readonly [T in EventType]: DeepReadonly<z.infer<(typeof dataSchemas)[T]>> }
export type EventType = keyof typeof dataSchemas
export type Configuration = EventData['Configured']
export type Metadata = DeepReadonly<z.infer<typeof metadataSchema>>
export type Actor = Metadata['actor']

/** What happened, tagged on `type`; without when, by whom and where. */
export type Event<T extends EventType = EventType> = {
  readonly [K in T]: { readonly type: K; readonly data: EventData[K] }
}[T]

/** An event of a conversation, as readers get it. */
export type ConversationEvent<T extends EventType = EventType> = Event<T> & {
  /** 0-based index in the conversation's lineage. */
  readonly position: number
  readonly id: string
  readonly metadata: Metadata
}

/** Whether an event is a marker: `Condensed` or `Truncated`. */
export const isMarker = <E extends Event>(event: E): event is Extract<E, Event<'Condensed' | 'Truncated'>> =>
  event.type === 'Condensed' || event.type === 'Truncated'

/**
 * The messages that an event brings: one of a `MessageAppended`, the summary of a `Condensed`, none of the others.
 * All code reads content through this function, so that erasure has one place to happen in.
 */
export const contentOf = (event: Event): readonly Message[] => {
  switch (event.type) {
    case 'MessageAppended':
      return [event.data]
    case 'Condensed':
      return event.data.summary
    case 'Truncated':
    case 'Restored':
    case 'Rewound':
    case 'Configured':
    case 'Forked':
      return []
  }
}
