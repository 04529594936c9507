import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { countTokens } from '../../agent/context/tokens/tokens.ts'
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
import { limit, ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { commandIdOf, revisionTag } from '../preconditions.ts'
import { type JsonResponse, route } from '../route.ts'
import { branchesShape } from '../shapes/lookups.ts'
import { listedShape } from '../shapes/list.ts'

export const list = route({
  method: 'get',
  path: '/conversations',
  name: 'conversations',
  summary: 'The conversations, those first that were active last',
  scope: 'read',
  query: z.strictObject({
    q: z
      .string()
      .max(500)
      .optional()
      .describe('Only those whose id or title has this, or in which it was said'),
    has: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(traitNames)))
      .optional()
      .describe(`What has happened in it, with commas: ${traitNames.join(', ')}`),
    actor: z.string().max(300).optional().describe('Who wrote an event: the kind of an actor, or its id'),
    model: z.string().max(300).optional().describe('Only those in which it answered, or was configured'),
    beginning: z.string().max(200).optional().describe('Only those whose id begins so'),
    order: z
      .enum(['activity', 'begun', 'tokens', 'id', 'updated', 'newest'])
      .default('activity')
      .describe(
        'By the time of the last event, begun last in this store (also `newest`), most tokens, or by id; `updated` is `activity` that waits for the index',
      ),
    limit,
    cursor: z.string().max(400).optional().describe('`next` of the page before'),
  }),
  answers: {
    200: z.object({
      next: z.string().optional(),
      total: z.int().optional().describe('All conversations; absent while the index catches up'),
      matching: z
        .int()
        .optional()
        .describe('Absent as `total`, and where counting would take reading what was said'),
      isComplete: z
        .boolean()
        .describe('Whether everything was indexed that was there; if not, any may be missing: ask again'),
      indexed: z.string().optional().describe('Through which place of the store its events are indexed'),
      last: z.string().optional().describe('The last place of the store, if it said so in time'),
      order: z
        .literal('begun')
        .optional()
        .describe(
          'That of the items, if it is not the one asked for: nothing else is known until all is indexed',
        ),
      problem: z.string().optional().describe('What keeps the index from continuing'),
      items: z.array(listedShape),
    }),
  },
  errors: ['NotFound'],
  handle: async ({ query, store }) => {
    const isOwn = query.cursor === undefined || !query.cursor.startsWith(unindexed)
    const found = isOwn ? await store.catalogue.find(query) : undefined
    const { q, has, actor, model, order } = query
    const isPlain = [q, has, actor, model].every((one) => one === undefined) && plainOrders.has(order)
    // Who only wants to see what there is need not wait until it is indexed.
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

/** Returns the progress of the index. */
const reachedIn = ({ indexed, last, problem }: Partial<FindPage> = {}) => ({ indexed, last, problem })

/** Adds the titles and links in the store to conversations found. */
const withOverviews = async (store: Store, { items, ...found }: FindPage) => {
  const known = new Map(items.map((item) => [item.id, item]))
  const overviews = []
  for await (const overview of store.conversations({ ids: [...known.keys()] }))
    overviews.push({ ...known.get(overview.id), ...overview })
  return { ...found, items: overviews }
}

/** Orders in which a list is shown at once, newest first, before the index is complete. */
const plainOrders: ReadonlySet<string> = new Set(['activity', 'begun', 'newest'])

/** Prefix of the cursors of lists made without the index. */
const unindexed = ':'

const notIndexed = async (store: Store, { beginning, order, limit: most, cursor }: Unindexed) => {
  const items = []
  const last = cursor?.slice(unindexed.length)
  let isAfter = last === undefined
  for await (const overview of store.conversations({ beginning })) {
    if (isAfter) items.push(overview)
    if (items.length > most) break
    isAfter ||= overview.id === last
  }
  if (!isAfter)
    throw requestError('NotFound', 'the cursor names no conversation of this list: begin it again')
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
    head: z.int().describe('The position that it is at: where the last rewind leads, or the last position'),
    hash: z
      .string()
      .describe('SHA-256 of the last event, which chains all before it: `prev` of the next one'),
    items: z.int().describe('How many items the model sees'),
    tokens: z.int().describe('Of the next request, estimated where no reply says it'),
    model: z.string().optional(),
    queued: z.int().describe('Messages that wait in the inbox'),
    waiting: z.int().describe('Calls that wait for a person or a result'),
    branches: branchesShape,
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
    const { position, hash } = await chat.end()
    const then = { at: position }
    const { head, ...shown } = await shownIn(chat, then)
    // One after the other: each may read all that is shown.
    const queued = await chat.queued(then)
    const waiting = await chat.waiting(then)
    const { last: _, ...branches } = await store.catalogue.branches(id, then)
    const body = {
      id,
      position,
      head,
      hash,
      ...shown,
      queued: queued.length,
      waiting: waiting.length,
      branches,
    }
    return { headers: { etag: revisionTag(position, body) }, body }
  },
})

/** Counts what the model sees without caching it, as the next step may read all of it again. */
const shownIn = async (chat: Conversation, then: { readonly at: number }) => {
  const now = await chat.context(then)
  const model = now.outline.configuration?.model
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
  summary: 'Begins a conversation with messages, or as a fork of another one',
  scope: 'write',
  body: z
    .strictObject({
      id: conversationIdSchema
        .optional()
        .describe('Default: a new UUID; the same one under the same `commandId`'),
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

/** Makes the id of a new conversation. A repeated command gets the same id, even after a restart of the server. */
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
