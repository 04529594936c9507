import { z } from 'zod'
import { coversSchema, dataSchemas, messageSchema, metadataSchema, originSchema } from '../events/events.ts'
import { conversationIdSchema } from '../events/ids.ts'
import { pricesAsOf } from '../index.ts'
import { receiptStates } from './calls.ts'

// What the API answers: the shapes that the library has, as schemas. More fields may come.

const position = z.int().min(-1).describe('0-based; -1 is before the first event')
const time = z.iso.datetime().describe('UTC')
const count = z.int().min(0)

export const blockShape = z.looseObject({ type: z.string() }).meta({ id: 'Block' })
const message = z.looseObject({ role: messageSchema.shape.role, content: z.array(blockShape) })
const origin = z.looseObject(originSchema.shape)

const cuts = z
  .array(z.object({ block: count, field: z.string(), length: count }))
  .optional()
  .describe('With `clip`: the blocks that were cut, and the whole length of what was')

/** Which data an event of each type has. Content is anything: it was checked when it was written. */
const eventData = z.looseObject({})
export const eventShape = z
  .looseObject({
    position,
    id: z.string(),
    type: z.enum(Object.keys(dataSchemas) as [keyof typeof dataSchemas]),
    data: eventData,
    metadata: z.looseObject(metadataSchema.omit({ sealed: true }).shape),
    cuts,
  })
  .meta({ id: 'Event' })

const placed = { position, time }
const marker = {
  ...placed,
  covers: coversSchema,
  messagesHidden: count,
  tokens: z.object({ before: count, after: count }),
}
const messageItem = z.looseObject({
  kind: z.literal('message'),
  ...placed,
  messageId: z.string(),
  role: message.shape.role,
  content: message.shape.content,
  cuts,
  origin: origin.optional(),
})
const summaryItem = z.looseObject({
  kind: z.literal('summary'),
  ...marker,
  messages: z.array(message),
  cuts,
  method: dataSchemas.Condensed.shape.method,
})
const truncationItem = z.looseObject({
  kind: z.literal('truncation'),
  ...marker,
  reason: z.string().optional(),
})
export const itemShape = z
  .discriminatedUnion('kind', [messageItem, summaryItem, truncationItem])
  .meta({ id: 'Item', description: 'What the model sees: a message, or what is shown in place of several' })

const fate = {
  status: z.enum(['active', 'condensed', 'truncated', 'restored', 'abandoned']),
  by: position.optional().describe('The position of the event that made it so'),
}
export const entryShape = z
  .discriminatedUnion('kind', [
    messageItem.extend(fate),
    summaryItem.extend(fate),
    truncationItem.extend(fate),
  ])
  .meta({ id: 'Entry', description: 'An item of the full history, and what became of it' })

export const overviewShape = z
  .looseObject({
    id: conversationIdSchema,
    title: z.string(),
    messages: count.optional(),
    events: count,
    updated: z.string(),
    parent: z.string().optional(),
    problem: z.string().optional(),
  })
  .meta({ id: 'Overview' })

export const listedShape = overviewShape
  .extend({
    tokens: count.optional().describe('What the model sees now, estimated'),
    curve: z
      .array(count)
      .max(32)
      .optional()
      .describe('Tokens at positions evenly spaced, the last one included'),
    calls: count.optional().describe('Replies that have a receipt'),
    has: z.array(z.string()).optional(),
  })
  .meta({ id: 'Listed', description: 'What the index does not know yet is absent' })

export const writtenShape = z
  .looseObject({
    conversation: conversationIdSchema,
    position,
    events: z.array(z.looseObject({ position, id: z.string(), type: eventShape.shape.type })),
  })
  .meta({ id: 'Written' })

const awaits = z.enum(['model', 'user', 'beginning']).describe('Whose turn it is')
const shown = z
  .object({
    items: count,
    tokens: count,
    awaits,
    repairs: z.record(z.string(), count).describe('How many of each kind a request of it needs'),
  })
  .describe('Tokens are estimated')
export const previewShape = z
  .looseObject({
    conversation: conversationIdSchema,
    position: position.describe('The last position: give it as `after`'),
    events: z.array(z.looseObject({ type: eventShape.shape.type, data: eventData })),
    before: shown,
    after: shown,
  })
  .meta({ id: 'Preview', description: 'What a command would write, and what the model would see then' })

export const diffShape = z
  .looseObject({
    from: position,
    to: position,
    changes: z.array(
      z.looseObject({ change: z.enum(['kept', 'appeared', 'disappeared']), entry: entryShape }),
    ),
  })
  .meta({ id: 'Diff' })

export const repairShape = z.looseObject({ kind: z.string(), position, detail: z.string() })
export const requestShape = z
  .looseObject({
    at: position,
    messages: z.array(z.looseObject({ role: z.string() })),
    awaits,
    repairs: z.array(repairShape),
  })
  .meta({ id: 'Rendered', description: 'What the model would be sent' })

export const callShape = z
  .looseObject({
    number: z
      .int()
      .min(1)
      .optional()
      .describe('Without a receipt, a reply has none: it is called p and its position'),
    position: position.optional().describe('Of the answer, if there is one'),
    kind: z.enum(['reply', 'summary']).optional(),
    origin: origin.optional(),
    receipt: z.looseObject({ position, digest: z.string() }).optional(),
  })
  .meta({ id: 'ModelCall' })
export const sentShape = callShape
  .extend({
    state: z
      .enum(receiptStates)
      .describe(
        'verified: canonical JSON of system, tools and messages as in the receipt; differs: not so; without a receipt, missing (calls before it have one), reconstructed (none has), pending (no reply yet)',
      ),
    finding: z.looseObject({ kind: z.string(), message: z.string() }).optional(),
    request: z.looseObject({}),
    isSame: z.boolean().optional(),
    usd: z
      .number()
      .optional()
      .describe(`What it cost in US dollars at the list prices of ${pricesAsOf}, where they are known`),
  })
  .meta({ id: 'SentCall' })

export const noteShape = z
  .looseObject({ conversation: z.string(), kind: z.string(), data: z.unknown().optional(), at: position })
  .meta({ id: 'Note' })
export const linkShape = z
  .looseObject({ from: z.string(), relation: z.string(), at: position })
  .meta({ id: 'Link' })

export const saidShape = z
  .union([
    z.looseObject({ status: z.literal('recorded'), conversation: z.string(), position }),
    z.looseObject({ status: z.literal('queued'), conversation: z.string(), id: z.string() }),
  ])
  .meta({ id: 'Said' })
export const awaitedShape = z
  .looseObject({
    call: z.string(),
    tool: z.string(),
    why: z.enum(['approval', 'handed-back']),
    reply: position,
    since: z.string(),
  })
  .meta({ id: 'Awaited' })
export const decidedShape = z
  .looseObject({
    conversation: z.string(),
    call: z.string(),
    decision: z.enum(['approved', 'denied']),
    by: z.string(),
  })
  .meta({ id: 'Decided' })

export const stepShape = z
  .looseObject({
    conversation: z.string(),
    state: z.enum(['open', 'claimed', 'waiting', 'parked']),
    step: z.string(),
    since: z.string(),
    attempt: count,
    holder: z.string().optional(),
    errors: z.array(z.string()),
  })
  .meta({ id: 'Step' })
export const workerShape = z
  .looseObject({
    worker: z.string(),
    heard: z.string(),
    slots: count.optional(),
    paused: z.boolean(),
    steps: z.array(
      z.looseObject({ conversation: z.string(), step: z.string(), attempt: count, since: z.string() }),
    ),
  })
  .meta({ id: 'Worker' })

const ofCall = { call: z.string(), tool: z.string() }
const answeredCall = { ...ofCall, ms: z.number(), content: z.union([z.string(), z.array(blockShape)]) }
const marked = { position, covers: coversSchema }
const happening = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.looseObject({ type: z.literal(type), ...shape })
/** What happens in a turn, as `chat.stream` tells it. */
const happeningShape = z
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
  .meta({ id: 'TurnEvent', description: 'What happens in a turn' })
export const servedShape = z.strictObject({ conversation: conversationIdSchema, event: happeningShape })

export const problemShape = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What to do'),
    tag: z.string().optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457; the data of a typed error are fields of it' })

const upTo = {
  last: position.describe('The last position of the conversation'),
  indexed: position.describe('The last position that the answer knows of: the index may still catch up'),
  problem: z.string().optional().describe('What keeps the index from continuing'),
}
const counts = z.array(count)
export const outlineShape = z
  .object({
    from: position,
    to: position.describe('The last position of the columns'),
    ...upTo,
    next: position.optional().describe('`from` of the next outline, if there is one'),
    kinds: z
      .string()
      .describe(
        'A letter each: u user, r user with tool results, a assistant, c assistant with tool calls, s system, C Condensed, T Truncated, W Rewound, R Restored, K Configured, - any other',
      ),
    sizes: counts.describe("Bytes of each event's data as JSON"),
    tokens: counts.describe('Estimated tokens of what the model sees right after each event'),
    times: z.array(z.int()).describe('Milliseconds since 1970'),
    markers: z.array(
      z.object({
        position,
        kind: z.enum(['condensed', 'truncated']),
        first: position,
        last: position,
        hidden: count,
        before: count,
        after: count,
        method: z.string().optional(),
      }),
    ),
    rewinds: z.array(z.object({ position, to: position })),
    restores: z.array(z.object({ position, marker: position })),
    calls: z.array(position).describe('Replies that have a receipt'),
  })
  .meta({ id: 'Outline', description: 'The element at index i of a column is of position `from` + i' })

export const bucketsShape = z
  .object({
    ...upTo,
    buckets: count,
    first: z.array(position).describe('The first position of each'),
    min: counts.describe('The fewest tokens that the model sees in it'),
    max: counts,
    markers: counts.describe('How many it has'),
    rewinds: counts,
  })
  .meta({ id: 'Buckets' })

export const hiddenShape = z
  .object({
    marker: position,
    messages: count,
    kinds: z.record(z.string(), count).describe('By the letters of an outline'),
    tools: z.array(z.tuple([z.string(), count])).describe('The most called first'),
  })
  .meta({ id: 'Hidden' })

const seen = z
  .object({
    state: z.enum(['shown', 'hidden', 'abandoned']),
    by: position.optional().describe('The position of the event that made it so'),
  })
  .meta({ id: 'Seen', description: 'Whether the model sees a message or a system prompt' })
const hit = z.object({
  conversation: z.string(),
  position,
  kind: z.string().describe('A letter, as in an outline'),
  time,
  excerpt: z.object({ before: z.string(), match: z.string(), after: z.string() }),
  now: seen,
  then: seen.describe('For the next reply after it'),
})
const titleHit = hit.pick({ conversation: true, time: true, excerpt: true })
const found = {
  titles: z
    .array(titleHit)
    .describe('On the first page: the conversations whose title has it, at most `limit`'),
  items: z.array(hit).describe('The newest first'),
  next: z.string().optional().describe('There may be more: `cursor` of the next page'),
  isComplete: z.boolean().describe('Whether everything was indexed that was there'),
  problem: upTo.problem,
}
export const foundShape = z.object(found).meta({ id: 'Found' })
export const foundInShape = z.object({ ...found, ...upTo }).meta({ id: 'FoundInConversation' })
