import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { countTokens } from '../../agent/context/tokens/tokens.ts'
import { statuses } from '../../catalogue/status.ts'
import { traitNames } from '../../catalogue/traits.ts'
import { conversationExists } from '../../commands/rejections.ts'
import { conversationIdSchema, eventId } from '../../events/ids.ts'
import { newMessage } from '../../events/new-message.ts'
import {
  type AppendOptions,
  type Conversation,
  type FindPage,
  isError,
  type MessageInput,
  type Store,
} from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { linkHeader } from '../paging.ts'
import { aboutConversation } from '../about.ts'
import { listEntry } from '../list-entry.ts'
import { flag, limit, ofConversation } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { commandIdOf, revisionTag } from '../preconditions.ts'
import { type JsonResponse, route } from '../route.ts'
import { aboutShape, countsShape, listedShape } from '../shapes/list.ts'

export const list = route({
  method: 'get',
  path: '/conversations',
  name: 'conversations',
  summary: 'Lists conversations, most recently active first',
  scope: 'read',
  query: z.strictObject({
    q: z
      .string()
      .max(500)
      .optional()
      .describe('Only conversations with this text in their id, title or messages'),
    has: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(traitNames)).min(1))
      .optional()
      .describe(`Only conversations with these traits, separated by commas: ${traitNames.join(', ')}`),
    status: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(statuses)).min(1))
      .optional()
      .describe(`Only conversations with one of these statuses, separated by commas: ${statuses.join(', ')}`),
    errors: flag.optional().describe('Only conversations with errors'),
    actor: z
      .string()
      .max(300)
      .optional()
      .describe('Only conversations with an event by this actor: its kind, or its id'),
    model: z
      .string()
      .max(300)
      .optional()
      .describe('Only conversations in which this model answered or was configured'),
    beginning: z.string().max(200).optional().describe('Only conversations whose id begins with this'),
    order: z
      .enum(['activity', 'begun', 'tokens', 'id', 'updated', 'newest'])
      .default('activity')
      .describe(
        'Order: by time of the last event, by when the conversation began in this store (also `newest`), by tokens, or by id; `updated` is `activity`, but waits for the index',
      ),
    limit,
    cursor: z.string().max(400).meta({ format: 'cursor' }).optional().describe('`next` of the previous page'),
  }),
  answers: {
    200: z.object({
      next: z.string().optional(),
      total: z.int().optional().describe('Number of all conversations; absent while the index catches up'),
      matching: z
        .int()
        .optional()
        .describe(
          'Number of conversations that pass the filters; absent when `total` is, and if counting would need to read messages',
        ),
      isComplete: z
        .boolean()
        .describe(
          'True if everything was indexed; otherwise conversations may be missing, so request the list again',
        ),
      indexed: z.string().optional().describe('Place in the store up to which events are indexed'),
      last: z.string().optional().describe('Last place in the store, if the store reported it in time'),
      order: z
        .literal('begun')
        .optional()
        .describe(
          'Order of the items if it is not the requested one, which is unavailable until everything is indexed',
        ),
      problem: z.string().optional().describe('Reason why the index cannot continue'),
      counts: countsShape.optional(),
      items: z.array(listedShape),
    }),
  },
  sends: ['Link'],
  errors: ['NotFound'],
  handle: async ({ query, store }) => {
    const isOwn = query.cursor === undefined || !query.cursor.startsWith(unindexed)
    const found = isOwn ? await store.catalogue.find(query) : undefined
    const { q, has, status, errors, actor, model, order } = query
    const isPlain =
      [q, has, status, errors, actor, model].every((one) => one === undefined) && plainOrders.has(order)
    // A list without filters need not wait until everything is indexed.
    const isFound = found && (found.isComplete || !isPlain || query.cursor !== undefined)
    const { next, ...body } = isFound
      ? await withOverviews(store, found)
      : { ...(await notIndexed(store, query)), ...reachedIn(found) }
    return {
      headers: linkHeader(query, { next: next === undefined ? undefined : { cursor: next } }),
      body: { ...(next !== undefined && { next }), ...body },
    }
  },
})

const reachedIn = ({ indexed, last, problem }: Partial<FindPage> = {}) => ({ indexed, last, problem })

/** Adds the information from the store, with titles and links, to the conversations found. */
const withOverviews = async (store: Store, { items, ...found }: FindPage) => {
  const known = new Map(items.map((item) => [item.id, item]))
  const infos = []
  for await (const info of store.conversations({ ids: [...known.keys()] }))
    infos.push({ ...known.get(info.id), ...listEntry(info) })
  return { ...found, items: infos }
}

/** Orders for which the list can be returned before the index is complete. Such a list is sorted by creation, newest first. */
const plainOrders: ReadonlySet<string> = new Set(['activity', 'begun', 'newest'])

/** Prefix of cursors of a list that was made without the index. */
const unindexed = ':'

const notIndexed = async (store: Store, { beginning, order, limit: most, cursor }: Unindexed) => {
  const items = []
  const last = cursor?.slice(unindexed.length)
  let isAfter = last === undefined
  for await (const info of store.conversations({ beginning })) {
    if (isAfter) items.push(listEntry(info))
    if (items.length > most) break
    isAfter ||= info.id === last
  }
  if (!isAfter)
    throw requestError(
      'NotFound',
      'the cursor names no conversation in this list: start again from the first page',
    )
  const next = items.length > most ? `${unindexed}${items[most - 1]?.id}` : undefined
  const said = order === 'activity' ? { order: 'begun' as const } : {}
  return { next, isComplete: false, ...said, items: items.slice(0, most) }
}
interface Unindexed {
  readonly order: string
  readonly beginning?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

const conversationShape = z
  .object({
    id: conversationIdSchema,
    position: z.int().describe('The last position'),
    head: z.int().describe('Current head: the target of the last rewind, or the last position'),
    hash: z
      .string()
      .describe('SHA-256 of the last event, which chains all earlier ones: `prev` of the next event'),
    items: z.int().describe('Number of items that the model sees'),
    tokens: z.int().describe('Tokens of the next request, estimated where no reply reports them'),
    model: z.string().optional(),
    queued: z.int().describe('Number of messages waiting in the inbox'),
    waiting: z.int().describe('Number of calls waiting for a decision or a result'),
  })
  .meta({ id: 'Conversation' })

export const get = route({
  method: 'get',
  path: '/conversations/{id}',
  name: 'conversation',
  summary: 'Returns the current state of a conversation; its ETag serves as `If-Match` of a command',
  scope: 'read',
  params: ofConversation,
  answers: { 200: conversationShape },
  sends: ['ETag'],
  errors: ['ConversationNotFound'],
  handle: async ({ params: { id }, store }) => {
    const chat = store.conversation(id)
    const { position, hash } = await chat.end()
    const then = { at: position }
    const { head, ...shown } = await shownIn(chat, then)
    // Sequentially, because each call may read the whole effective history.
    const queued = await chat.queued(then)
    const waiting = await chat.waiting(then)
    const body = {
      id,
      position,
      head,
      hash,
      ...shown,
      queued: queued.length,
      waiting: waiting.length,
    }
    return { headers: { etag: revisionTag(position, body) }, body }
  },
})

export const about = route({
  method: 'get',
  path: '/conversations/{id}/about',
  name: 'about',
  summary: 'Returns what the list says of one conversation: title, status, tokens, cost, errors',
  scope: 'read',
  params: ofConversation,
  answers: { 200: aboutShape },
  errors: ['ConversationNotFound'],
  handle: async ({ params: { id }, store }) => ({ body: await aboutConversation(store, id) }),
})

/**
 * Reads the effective history of a conversation and returns only figures, so that the history can be freed before the next step, which
 * may read all of it again.
 */
const shownIn = async (chat: Conversation, then: { readonly at: number }) => {
  const now = await chat.context(then)
  const model = now.layout.configuration?.model
  return {
    head: now.head,
    items: now.items.length,
    tokens: countTokens(now).total,
    ...(model !== undefined && { model }),
  }
}

export const create = route({
  method: 'post',
  path: '/conversations',
  name: 'create',
  summary: 'Begins a conversation with messages or as a fork of another',
  scope: 'write',
  body: z
    .strictObject({
      id: conversationIdSchema.optional().describe('Default: a new UUID, the same for the same `commandId`'),
      messages: z.array(newMessage).min(1).optional(),
      from: z
        .strictObject({ conversation: conversationIdSchema, at: z.int().min(0).optional() })
        .optional()
        .describe('Conversation to fork, and the last position to share'),
      commandId: z.string().min(1).max(1_000).optional(),
    })
    .refine(({ messages, from }) => (messages === undefined) !== (from === undefined), {
      error: 'set either messages or from',
    }),
  answers: { 201: z.object({ id: conversationIdSchema, position: z.int() }) },
  sends: ['ETag', 'Location'],
  errors: ['CommandReused', 'ConversationExists', 'ConversationNotFound', 'OutOfRange', 'EventTooLarge'],
  handle: async ({ body, headers, identity: { actor, by }, store, book }) => {
    const commandId = commandIdOf(body.commandId, headers)
    const id = body.id ?? newId(by, commandId)
    const begin = async (): Promise<JsonResponse> => {
      await begun(store, id, body, { actor, commandId })
      const position = await store.conversation(id).position()
      const location = `/conversations/${id}`
      return { status: 201, headers: { location, etag: revisionTag(position) }, body: { id, position } }
    }
    if (commandId === undefined) return begin()
    const command = { ...body, name: 'create' }
    return (await book.once({ place: id, commandId, command, isKept: false }, begin)).answer
  },
})

/** Makes the id of a new conversation. A repeated command gets the same id, even after the server has restarted. */
const newId = (by: string, commandId: string | undefined): string =>
  commandId === undefined ? randomUUID() : eventId(`begun by ${by}`, commandId, 0)

interface Beginning {
  readonly messages?: readonly MessageInput[] | undefined
  readonly from?: { readonly conversation: string; readonly at?: number | undefined } | undefined
}

const begun = async (
  store: Store,
  id: string,
  { messages = [], from }: Beginning,
  envelope: Pick<AppendOptions, 'actor' | 'commandId'>,
): Promise<void> => {
  if (from) {
    await store.conversation(from.conversation).fork(id, { at: from.at, ...envelope })
    return
  }
  try {
    await store.conversation(id).append(messages, { ...envelope, after: -1 })
  } catch (error) {
    if (!isError(error, 'StaleContext')) throw error
    throw toError(conversationExists(id))
  }
}
