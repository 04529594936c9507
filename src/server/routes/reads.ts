import { z } from 'zod'
import type { ConversationEvent, Entry, Item, Store } from '../../index.ts'
import { route } from '../route.ts'
import { conversationLive, lastSeen, storeLive } from '../live.ts'
import { clippedEvent, clippedItem } from '../../core.ts'
import { acceptsEvents, checkAccepts, eventStream } from '../sse.ts'
import { at, clip, flag, limit, ofConversation, whole } from '../parameters.ts'
import { refused } from '../problem.ts'
import { entryShape, eventShape, itemShape, repairShape, requestShape } from '../shapes/history.ts'
import { linkShape, noteShape } from '../shapes/written.ts'
import { eventAt, from } from './tags.ts'

// What reads one conversation. What was true at a position stays true: such answers have strong ETags.

const notFound = ['ConversationNotFound', 'OutOfRange'] as const

const pageShape = <S extends z.ZodType>(item: S) =>
  z.object({
    at: z.int().describe('The position looked from'),
    total: z.int(),
    next: z.int().optional().describe('The `offset` of the next page, if there is one'),
    items: z.array(item),
  })
const offset = whole(0).default(0)
const paged = <T>(position: number, all: readonly T[], first: number, most: number) => ({
  at: position,
  total: all.length,
  ...(first + most < all.length && { next: first + most }),
  items: all.slice(first, first + most),
})

const shownItems = <I extends Item | Entry>(items: readonly I[], longest: number | undefined): readonly I[] =>
  longest === undefined ? items : items.map((item) => clippedItem(item, longest))

export const allEvents = route({
  method: 'get',
  path: '/events',
  name: 'follow',
  summary: 'The events of all conversations, live: those after a checkpoint, then new ones as they come',
  scope: 'read',
  query: z.strictObject({
    after: z
      .string()
      .max(500)
      .optional()
      .describe('The id of an event of this stream. Default: from the first event on'),
    from: z.literal('now').optional().describe('Without `after`: only what comes from now on'),
    beginning: z.string().max(200).optional().describe('Only conversations whose id begins so'),
  }),
  answers: {},
  media: ['text/event-stream'],
  errors: ['NotAcceptable'],
  handle: async ({ query: { after, from: begin, beginning }, headers, store, leaving, heartbeat }) => {
    checkAccepts(headers)
    const prefixes = beginning === undefined ? undefined : [beginning]
    const place = { after: headers.get('last-event-id') ?? after, from: begin }
    if (place.after !== undefined) await checkPlace(store, place.after)
    const signal = leaving()
    return eventStream(storeLive(store, { ...place, prefixes, signal }), signal, heartbeat)
  },
})

/** Whoever is told in a stream that it cannot begin there comes again, with the same id. */
const checkPlace = async (store: Store, after: string): Promise<void> => {
  for await (const _ of store.readAll({ after })) break
}

export const events = route({
  method: 'get',
  path: '/conversations/{id}/events',
  name: 'events',
  summary: 'Events as recorded, by position; with `Accept: text/event-stream` live',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    from: whole(0).default(0).describe('First position, that one included'),
    limit,
    clip,
    after: whole(-1).optional().describe('Live: begin after this position. Default: with the next event'),
  }),
  answers: {
    200: z.object({
      last: z.int().describe('The last position of the conversation'),
      next: z.int().optional().describe('`from` of the next page, if there is one'),
      items: z.array(eventShape),
    }),
  },
  media: ['text/event-stream'],
  errors: ['ConversationNotFound'],
  handle: async ({ params, query, headers, store, leaving, heartbeat }) => {
    const chat = store.conversation(params.id)
    const last = await chat.position()
    const shown = (event: ConversationEvent) =>
      query.clip === undefined ? event : clippedEvent(event, query.clip)
    if (acceptsEvents(headers)) {
      const after = lastSeen(headers) ?? query.after ?? last
      if (after > last)
        throw refused(
          'InvalidRequest',
          `conversation ${chat.id} ends at position ${last}: nothing comes after ${after}`,
        )
      const signal = leaving()
      return eventStream(conversationLive(chat, after, last, signal, shown), signal, heartbeat)
    }
    const until = Math.min(last, query.from + query.limit - 1)
    const items = []
    for await (const event of chat.events({ from: query.from, to: until })) items.push(shown(event))
    const next = until < last ? until + 1 : undefined
    const clipped = query.clip === undefined ? '' : `&clip=${query.clip}`
    const link = `<?from=${next}&limit=${query.limit}${clipped}>; rel="next"`
    return {
      ...(next !== undefined && { headers: { link } }),
      body: { last, ...(next !== undefined && { next }), items },
    }
  },
})

export const oneEvent = route({
  method: 'get',
  path: '/conversations/{id}/events/{position}',
  name: 'event',
  summary: 'One event',
  scope: 'read',
  params: ofConversation.extend({ position: whole(0) }),
  answers: { 200: eventShape },
  errors: notFound,
  handle: async ({ params, store }) => {
    const chat = store.conversation(params.id)
    const event = await eventAt(chat, params.position)
    if (event) return { headers: { etag: `"${event.id}"` }, body: event }
    const last = await chat.position()
    throw refused(
      'NotFound',
      `conversation ${params.id} has no position ${params.position}; it has 0 to ${last}`,
    )
  },
})

export const effective = route({
  method: 'get',
  path: '/conversations/{id}/effective',
  name: 'effective',
  summary: 'The effective history: what the model sees at a position',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    at,
    offset,
    limit,
    clip,
    repairs: flag
      .default(false)
      .describe('Also how the request made of it differs, so that the API takes it'),
  }),
  answers: { 200: pageShape(itemShape).extend({ repairs: z.array(repairShape).optional() }) },
  errors: notFound,
  handle: async ({ params, query, store }) => {
    const chat = store.conversation(params.id)
    const { at: position, items } = await chat.context({ at: query.at })
    const { offset: first, limit: most, clip: longest } = query
    const page = paged(position, items, first, most)
    const rendered = query.repairs ? await chat.render({ at: position }) : undefined
    return from(chat, position, ['effective', first, most, longest, query.repairs], {
      ...page,
      items: shownItems(page.items, longest),
      ...(rendered && { repairs: rendered.repairs }),
    })
  },
})

export const full = route({
  method: 'get',
  path: '/conversations/{id}/full',
  name: 'full',
  summary: 'The full history: every message and marker, and what became of it',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    at,
    clip,
    last: limit.describe('The newest so many entries'),
    before: whole(0).optional().describe('Only entries before this position'),
    abandoned: flag.default(false).describe('Also those that were rewound away'),
  }),
  answers: {
    200: z.object({
      at: z.int(),
      items: z.array(entryShape),
      next: z.int().optional().describe('There are older entries: `before` of their page'),
    }),
  },
  errors: notFound,
  handle: async ({ params, query, store }) => {
    const chat = store.conversation(params.id)
    const position = query.at ?? (await chat.position())
    const { clip: longest, last, ...options } = query
    const entries = await chat.full({ ...options, at: position, last: last + 1 })
    const items = entries.slice(-last)
    return from(chat, position, ['full', query], {
      at: position,
      items: shownItems(items, longest),
      ...(entries.length > last && { next: items[0]?.position }),
    })
  },
})

export const request = route({
  method: 'get',
  path: '/conversations/{id}/request',
  name: 'render',
  summary: 'What the model would be sent, as the Messages API takes it',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({ at, cache: z.enum(['5m', '1h']).optional(), systemMessages: flag.optional() }),
  answers: { 200: requestShape },
  errors: notFound,
  handle: async ({ params, query, store }) => {
    const chat = store.conversation(params.id)
    const position = query.at ?? (await chat.position())
    const rendered = await chat.render({ ...query, at: position })
    return from(chat, position, ['request', query], { at: position, ...rendered })
  },
})

export const notes = route({
  method: 'get',
  path: '/conversations/{id}/notes',
  name: 'notes',
  summary: 'Notes beside the conversation, in the order in which they were recorded',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({ kind: z.string().optional(), last: whole(1, 1_000).optional() }),
  answers: { 200: z.object({ items: z.array(noteShape) }) },
  errors: ['ConversationNotFound'],
  handle: async ({ params, query, store }) => ({
    body: { items: await store.conversation(params.id).notes(query) },
  }),
})

export const links = route({
  method: 'get',
  path: '/conversations/{id}/links',
  name: 'links',
  summary: 'Links of the conversation, and those that others have to it',
  scope: 'read',
  params: ofConversation,
  answers: { 200: z.object({ items: z.array(linkShape) }) },
  errors: ['ConversationNotFound'],
  handle: async ({ params, store }) => ({ body: { items: await store.conversation(params.id).links() } }),
})
