import { z } from 'zod'
import { clippedEvent } from '../../core.ts'
import type { Conversation, ConversationEvent, Store } from '../../index.ts'
import { conversationLive, lastSeen, storeLive } from '../live.ts'
import { createPageLimit, linkHeader, pageOf } from '../paging.ts'
import { clip, limit, ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { route } from '../route.ts'
import { eventPartShape, eventShape } from '../shapes/history.ts'
import { conversationMessage, storeMessage } from '../shapes/streams.ts'
import { acceptsEvents, checkAccepts, eventStream } from '../sse.ts'
import { eventAt } from './event-at.ts'

// Recorded events, and live streams of new ones.

export const allEvents = route({
  method: 'get',
  path: '/events',
  name: 'follow',
  summary: 'Streams the events of all conversations: those after a checkpoint, then new ones as they arrive',
  scope: 'read',
  query: z.strictObject({
    after: z
      .string()
      .max(500)
      .meta({ format: 'checkpoint' })
      .optional()
      .describe('Id of an event in this stream, after which to begin. Default: begin with the first event'),
    from: z.literal('now').optional().describe('Without `after`, send only new events'),
    beginning: z.string().max(200).optional().describe('Only conversations whose id begins with this'),
  }),
  answers: {},
  media: ['text/event-stream'],
  message: storeMessage,
  headers: ['Last-Event-ID'],
  errors: ['NotAcceptable', 'Overloaded'],
  handle: async ({ query: { after, from: begin, beginning }, headers, store, leaving, heartbeat }) => {
    checkAccepts(headers)
    const prefixes = beginning === undefined ? undefined : [beginning]
    const place = { after: headers.get('last-event-id') ?? after, from: begin }
    if (place.after !== undefined) await checkPlace(store, place.after)
    const signal = leaving()
    return eventStream(storeLive(store, { ...place, prefixes, signal }), signal, heartbeat)
  },
})

/**
 * Checks that a checkpoint is valid before the stream begins. If the stream itself reported the error, a client would reconnect with
 * the same checkpoint.
 */
const checkPlace = async (store: Store, after: string): Promise<void> => {
  for await (const _ of store.readAll({ after })) break
}

const fields = ['id', 'type', 'data', 'metadata'] as const
type Field = (typeof fields)[number]

export const events = route({
  method: 'get',
  path: '/conversations/{id}/events',
  name: 'events',
  summary: 'Returns events as recorded, by position; with `Accept: text/event-stream`, streams them live',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    from: whole(0)
      .optional()
      .describe('Begin with this position. Default: the first one; backward, the last one'),
    direction: z
      .enum(['forward', 'backward'])
      .optional()
      .describe('`backward`: newest first. Default: oldest first'),
    limit,
    fields: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(fields)).min(1))
      .optional()
      .describe(
        `Fields of an event to return besides its position, separated by commas: ${fields.join(', ')}`,
      ),
    clip,
    after: whole(-1)
      .optional()
      .describe('For a live stream: begin after this position. Default: begin with the next event'),
  }),
  answers: {
    200: z.object({
      last: z.int().describe('Last position of the conversation'),
      next: z.int().optional().describe('`from` for the next page; absent on the last page'),
      items: z.array(eventPartShape),
    }),
  },
  media: ['text/event-stream'],
  message: conversationMessage,
  headers: ['Last-Event-ID'],
  sends: ['ETag', 'Link'],
  errors: ['ConversationNotFound', 'Overloaded'],
  handle: async ({ params, query, headers, store, leaving, heartbeat }) => {
    const chat = store.conversation(params.id)
    const last = await chat.position()
    const shown = showing(query)
    const isBackward = query.direction === 'backward'
    if (acceptsEvents(headers)) {
      if (isBackward)
        throw requestError('InvalidRequest', 'an event stream is always forward: omit `direction`')
      if (query.from !== undefined)
        throw requestError(
          'InvalidRequest',
          'an event stream begins after a position: use `after`, not `from`',
        )
      const after = lastSeen(headers) ?? query.after ?? last
      if (after > last)
        throw requestError(
          'InvalidRequest',
          `conversation ${chat.id} ends at position ${last}: nothing comes after ${after}`,
        )
      const signal = leaving()
      return eventStream(conversationLive(chat, after, last, signal, shown), signal, heartbeat)
    }
    if (query.after !== undefined)
      throw requestError('InvalidRequest', '`after` is for event streams only: use `from` for a page')
    const page = pageOf({ ...query, from: query.from ?? (isBackward ? last : 0) }, last)
    const items: object[] = []
    const isTooMuch = createPageLimit()
    let next = page.next
    for await (const event of eventsOf(chat, page, isBackward)) {
      const item = shown(event)
      if (isTooMuch(item)) {
        next = { from: event.position, limit: query.limit }
        break
      }
      items.push(item)
    }
    const body = { last, ...(next && { next: next.from }), items }
    return { isTagged: true, headers: linkHeader(query, { ...page, next }), body }
  },
})

/** Number of events that are read at a time when reading backward. */
const stretch = 50

async function* eventsOf(
  chat: Conversation,
  { first, last }: { readonly first: number; readonly last: number },
  isBackward: boolean,
): AsyncGenerator<ConversationEvent, void> {
  if (!isBackward) return yield* chat.events({ from: first, to: last })
  for (let to = last; to >= first; to -= stretch) {
    const read: ConversationEvent[] = []
    for await (const event of chat.events({ from: Math.max(first, to - stretch + 1), to })) read.push(event)
    yield* read.toReversed()
  }
}

interface Showing {
  readonly clip?: number | undefined
  readonly fields?: readonly Field[] | undefined
}

/** Makes a function that returns the requested fields of an event, with long strings clipped if requested. */
const showing = ({ clip: longest, fields: wanted }: Showing): ((event: ConversationEvent) => object) => {
  const names =
    wanted && new Set<string>(['position', ...wanted, ...(wanted.includes('data') ? ['cuts', 'blocks'] : [])])
  return (event) => {
    const clipped = longest === undefined ? event : clippedEvent(event, longest)
    return names ? Object.fromEntries(Object.entries(clipped).filter(([name]) => names.has(name))) : clipped
  }
}

export const oneEvent = route({
  method: 'get',
  path: '/conversations/{id}/events/{position}',
  name: 'event',
  summary: 'Returns an event by its position',
  scope: 'read',
  params: ofConversation.extend({ position: whole(0) }),
  answers: { 200: eventShape },
  sends: ['ETag'],
  errors: ['ConversationNotFound', 'OutOfRange'],
  handle: async ({ params, store }) => {
    const chat = store.conversation(params.id)
    const event = await eventAt(chat, params.position)
    if (event) return { isTagged: true, body: event }
    const last = await chat.position()
    throw requestError(
      'NotFound',
      `conversation ${params.id} has no position ${params.position}; it has 0 to ${last}`,
    )
  },
})
