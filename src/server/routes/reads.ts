import { z } from 'zod'
import { countTokens } from '../../agent/context/tokens/tokens.ts'
import type { Entry, Item } from '../../index.ts'
import { rendering } from '../../projections/render/renderer.ts'
import { inBreaths } from '../../store/breath.ts'
import { readView } from '../bounded.ts'
import { route } from '../route.ts'
import { clippedItem } from '../../core.ts'
import { type PageQuery, createPageLimit, linkHeader, pageOf } from '../paging.ts'
import { at, clip, flag, limit, ofConversation, whole } from '../parameters.ts'
import { entryShape, itemShape, repairShape, requestShape } from '../shapes/history.ts'
import { linkShape, noteShape } from '../shapes/write-shapes.ts'

// Operations that read one conversation. A view at a position changes only if content is erased, so its response has a strong ETag.

const notFound = ['ConversationNotFound', 'OutOfRange'] as const

const pageShape = <S extends z.ZodType>(item: S) =>
  z.object({
    at: z.int().describe('Position from which the history is viewed'),
    total: z.int(),
    next: z.int().optional().describe('`offset` for the next page; absent on the last page'),
    items: z.array(item),
  })
const offset = whole(0).default(0)

const shownItems = <I extends Item | Entry>(items: readonly I[], longest: number | undefined): readonly I[] =>
  longest === undefined ? items : items.map((item) => clippedItem(item, longest))

/** Returns as many of the first items as fit on a page. */
const firstThatFit = <I extends object>(items: readonly I[]): readonly I[] => {
  const isTooMuch = createPageLimit()
  const end = items.findIndex(isTooMuch)
  return end < 0 ? items : items.slice(0, end)
}

export const effective = route({
  method: 'get',
  path: '/conversations/{id}/effective',
  name: 'effective',
  summary: 'Returns the effective history: what the model sees at a position',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    at,
    offset,
    limit,
    clip,
    repairs: flag.default(false).describe('Include the repairs that make the request valid for the API'),
    tokens: flag.default(false).describe('Include the tokens of the next request'),
  }),
  answers: {
    200: pageShape(itemShape).extend({
      repairs: z.array(repairShape).optional(),
      tokens: z
        .int()
        .optional()
        .describe('Tokens of the next request, estimated where no reply reports them'),
      estimated: z.int().optional().describe('Number of `tokens` that are estimated'),
    }),
  },
  sends: ['ETag', 'Link'],
  errors: notFound,
  handle: async ({ params, query, store }) => {
    const chat = store.conversation(params.id)
    const now = await chat.context({ at: query.at })
    const { at: position, items } = now
    const { offset: first, limit: most, clip: longest, repairs, tokens } = query
    const page = pageOf({ from: first, limit: most }, items.length - 1)
    const { prev } = page
    const shown = firstThatFit(shownItems(items.slice(page.first, page.last + 1), longest))
    const end = page.first + shown.length
    const next = end < items.length && shown.length > 0 ? { from: end, limit: most } : undefined
    const rendered = repairs ? await inBreaths(rendering(now, {})) : undefined
    const counted = tokens ? countTokens(now) : undefined
    const body = {
      at: position,
      total: items.length,
      ...(next && { next: next.from }),
      items: shown,
      ...(rendered && { repairs: rendered.repairs }),
      ...(counted && { tokens: counted.total, estimated: counted.estimated }),
    }
    const beside = { next: next && offsetOf(next), prev: prev && offsetOf(prev) }
    return { isTagged: true, headers: linkHeader({ ...query, at: position }, beside), body }
  },
})
const offsetOf = ({ from: index, limit: most }: PageQuery) => ({ offset: index, limit: most })

export const full = route({
  method: 'get',
  path: '/conversations/{id}/full',
  name: 'full',
  summary: 'Returns the full history: every message and marker, with its status',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    at,
    clip,
    last: limit.describe('Number of entries to return, the newest ones'),
    before: whole(0).optional().describe('Only entries before this position'),
    abandoned: flag.default(false).describe('Include entries abandoned by rewinds'),
  }),
  answers: {
    200: z.object({
      at: z.int(),
      items: z.array(entryShape),
      next: z.int().optional().describe('`before` for the page of older entries; absent if there are none'),
    }),
  },
  sends: ['ETag', 'Link'],
  errors: notFound,
  handle: async ({ params, query, store }) => {
    const chat = store.conversation(params.id)
    const position = query.at ?? (await chat.position())
    const { clip: longest, last, ...options } = query
    const entries = await chat.full({ ...options, at: position, last: last + 1 })
    const items = firstThatFit(shownItems(entries.slice(-last), longest).toReversed()).toReversed()
    const next = entries.length > items.length ? items[0]?.position : undefined
    const body = {
      at: position,
      items,
      ...(next !== undefined && { next }),
    }
    const beside = { next: next === undefined ? undefined : { before: next } }
    return { isTagged: true, headers: linkHeader({ ...query, at: position }, beside), body }
  },
})

export const request = route({
  method: 'get',
  path: '/conversations/{id}/request',
  name: 'render',
  summary: 'Returns the request that the model would be sent, in the form of the Messages API',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({ at, cache: z.enum(['5m', '1h']).optional(), systemMessages: flag.optional() }),
  answers: { 200: requestShape },
  sends: ['ETag'],
  errors: [...notFound, 'TooLong'],
  handle: async ({ params, query, store }) => {
    const chat = store.conversation(params.id)
    const position = query.at ?? (await chat.position())
    await readView(chat, position, `request ${chat.id} --at ${position}`)
    const rendered = await chat.render({ ...query, at: position })
    return { isTagged: true, body: { at: position, ...rendered } }
  },
})

export const notes = route({
  method: 'get',
  path: '/conversations/{id}/notes',
  name: 'notes',
  summary: 'Lists the notes of the conversation, in the order in which they were recorded',
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
  summary: "Lists the links of the conversation, and other conversations' links to it",
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({ offset, limit }),
  answers: {
    200: z.object({
      total: z.int(),
      next: z.int().optional().describe('`offset` for the next page; absent on the last page'),
      items: z.array(linkShape),
    }),
  },
  sends: ['Link'],
  errors: ['ConversationNotFound'],
  handle: async ({ params, query, store }) => {
    const all = await store.conversation(params.id).links()
    const page = pageOf({ from: query.offset, limit: query.limit }, all.length - 1)
    const shown = firstThatFit(all.slice(page.first, page.last + 1))
    const end = page.first + shown.length
    const next = end < all.length && shown.length > 0 ? { from: end, limit: query.limit } : undefined
    const beside = { next: next && offsetOf(next), prev: page.prev && offsetOf(page.prev) }
    return {
      headers: linkHeader(query, beside),
      body: { total: all.length, ...(next && { next: next.from }), items: shown },
    }
  },
})
