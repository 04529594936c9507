import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { conversationExists } from '../../commands/rejections.ts'
import { conversationIdSchema } from '../../events/ids.ts'
import { newMessage } from '../../events/new-message.ts'
import { isError } from '../../index.ts'
import { toError } from '../../result/typed.ts'
import { limit, ofConversation, whole } from '../parameters.ts'
import { refused } from '../problem.ts'
import { revisionTag } from '../preconditions.ts'
import { route } from '../route.ts'
import { overviewShape } from '../shapes.ts'

export const list = route({
  method: 'get',
  path: '/conversations',
  name: 'conversations',
  summary: 'The conversations, those begun last first',
  scope: 'read',
  query: z.strictObject({
    beginning: z.string().max(200).optional().describe('Only those whose id begins so'),
    sort: z.enum(['newest', 'id']).optional(),
    limit,
    cursor: z.string().max(300).optional().describe('`next` of the page before'),
  }),
  answers: { 200: z.object({ next: z.string().optional(), items: z.array(overviewShape) }) },
  errors: ['NotFound'],
  handle: async ({ query: { beginning, sort, limit: most, cursor }, store }) => {
    const items = []
    let isAfter = cursor === undefined
    for await (const overview of store.conversations({ beginning, sort })) {
      if (isAfter) items.push(overview)
      if (items.length > most) break
      isAfter ||= overview.id === cursor
    }
    if (!isAfter) throw refused('NotFound', 'the cursor names no conversation of this list: begin it again')
    const next = items.length > most ? items[most - 1]?.id : undefined
    const query = new URLSearchParams({ limit: String(most), cursor: next ?? '' }).toString()
    const link = `<?${query}>; rel="next"`
    return {
      ...(next !== undefined && { headers: { link } }),
      body: { ...(next !== undefined && { next }), items: items.slice(0, most) },
    }
  },
})

const conversationShape = z
  .object({
    id: conversationIdSchema,
    position: z.int().describe('The last position'),
    items: z.int().describe('How many items the model sees'),
    tokens: z.int().describe('Of the next request, estimated where no reply says it'),
    model: z.string().optional(),
    queued: z.int().describe('Messages that wait in the inbox'),
    waiting: z.int().describe('Calls that wait for a person or a result'),
  })
  .meta({ id: 'Conversation' })

export const get = route({
  method: 'get',
  path: '/conversations/{id}',
  name: 'conversation',
  summary: 'A conversation as of now; its ETag is what `If-Match` of a command takes',
  scope: 'read',
  params: ofConversation,
  answers: { 200: conversationShape },
  errors: ['ConversationNotFound'],
  handle: async ({ params: { id }, store }) => {
    const chat = store.conversation(id)
    const position = await chat.position()
    const [{ items, outline }, { total }, queued, waiting] = await Promise.all([
      chat.context({ at: position }),
      chat.tokens(),
      chat.queued(),
      chat.waiting(),
    ])
    const model = outline.configuration?.model
    return {
      headers: { etag: revisionTag(position) },
      body: {
        id,
        position,
        items: items.length,
        tokens: total,
        ...(model !== undefined && { model }),
        queued: queued.length,
        waiting: waiting.length,
      },
    }
  },
})

export const create = route({
  method: 'post',
  path: '/conversations',
  name: 'create',
  summary: 'Begins a conversation with messages, or as a fork of another one',
  scope: 'write',
  body: z
    .strictObject({
      id: conversationIdSchema.optional().describe('Default: a new UUID'),
      messages: z.array(newMessage).min(1).optional(),
      from: z
        .strictObject({ conversation: conversationIdSchema, at: whole(0).or(z.int().min(0)).optional() })
        .optional()
        .describe('The conversation to fork, and up to which position'),
      commandId: z.string().min(1).max(1_000).optional(),
    })
    .refine(({ messages, from }) => (messages === undefined) !== (from === undefined), {
      error: 'give one of messages and from',
    }),
  answers: { 201: z.object({ id: conversationIdSchema, position: z.int() }) },
  errors: ['ConversationExists', 'ConversationNotFound', 'OutOfRange', 'EventTooLarge'],
  handle: async ({ body: { id = randomUUID(), messages, from, commandId }, identity, store }) => {
    const envelope = { actor: identity.actor, commandId }
    const chat = store.conversation(id)
    if (from) {
      const { conversation, at } = from
      await store.conversation(conversation).fork(id, { at, ...envelope })
    } else
      try {
        await chat.append(messages ?? [], { ...envelope, after: -1 })
      } catch (error) {
        if (!isError(error, 'StaleContext')) throw error
        throw toError(conversationExists(id))
      }
    const position = await chat.position()
    const location = `/conversations/${id}`
    return { status: 201, headers: { location, etag: revisionTag(position) }, body: { id, position } }
  },
})
