import { z } from 'zod'
import { invalidInput } from '../../events/errors.ts'
import { isError, type SearchOptions, type SearchPage } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { aboutConversation } from '../about.ts'
import { flag, ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { linkHeader } from '../paging.ts'
import { type JsonResponse, route } from '../route.ts'
import {
  branchesShape,
  bucketsShape,
  foundInShape,
  foundShape,
  hiddenShape,
  outlineShape,
} from '../shapes/lookups.ts'

// Operations that are answered from the index beside the store.

const notFound = ['ConversationNotFound', 'OutOfRange'] as const

export const outline = route({
  method: 'get',
  path: '/conversations/{id}/outline',
  name: 'outline',
  summary:
    'Returns the outline (the events without their content) in columns, at most 100,000 events at a time',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    from: whole(0).default(0).describe('First position, inclusive'),
    to: whole(0).optional().describe('Last position, inclusive. Default: the last one'),
    about: flag.default(false).describe('Include what `about` returns of the conversation'),
  }),
  answers: { 200: outlineShape },
  sends: ['ETag', 'Link'],
  errors: notFound,
  handle: async ({ params: { id }, query, store }) => {
    const { about: isAbout, ...range } = query
    const outlined = await store.catalogue.outline(id, range)
    const about = isAbout ? await aboutConversation(store, id) : undefined
    const { next } = outlined
    const links = linkHeader(range, { next: next === undefined ? undefined : { from: next } })
    return { isTagged: true, headers: links, body: { ...outlined, ...(about && { about }) } }
  },
})

export const overview = route({
  method: 'get',
  path: '/conversations/{id}/overview',
  name: 'overview',
  summary:
    'Returns the whole conversation in buckets, with the tokens, kinds of events, markers and rewinds of each, in columns',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({ buckets: whole(1, 10_000).default(1_200) }),
  answers: { 200: bucketsShape },
  sends: ['ETag'],
  errors: notFound,
  handle: async ({ params: { id }, query, store }) => ({
    isTagged: true,
    body: await store.catalogue.overview(id, query),
  }),
})

export const branches = route({
  method: 'get',
  path: '/conversations/{id}/branches',
  name: 'branches',
  summary: 'Returns the abandoned branches and the forks of a conversation, the newest 100 of each',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({ at: whole(0).optional().describe('Position to describe. Default: the last one') }),
  answers: { 200: branchesShape },
  errors: notFound,
  handle: async ({ params: { id }, query, store }) => ({ body: await store.catalogue.branches(id, query) }),
})

export const hidden = route({
  method: 'get',
  path: '/conversations/{id}/hidden/{marker}',
  name: 'hidden',
  summary: 'Returns what a marker hides at all levels: messages by kind, and the tools called in them',
  scope: 'read',
  params: ofConversation.extend({ marker: whole(0) }),
  answers: { 200: hiddenShape },
  sends: ['ETag'],
  errors: [...notFound, 'NotFound'],
  handle: async ({ params: { id, marker }, store }) => {
    const found = await store.catalogue.hidden(id, marker)
    if (!found)
      throw requestError('NotFound', `there is no marker at position ${marker} of ${id} that hides anything`)
    return { isTagged: true, body: found }
  },
})

const mostMarkers = 200

export const hiddenBy = route({
  method: 'get',
  path: '/conversations/{id}/hidden',
  name: 'hiddenBy',
  summary: 'Returns what each of several markers hides at all levels',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    markers: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(whole(0)).min(1).max(mostMarkers))
      .describe(`At most ${mostMarkers} positions, separated by commas`),
  }),
  answers: {
    200: z.object({
      items: z.array(hiddenShape).describe('The markers that hide something, in the requested order'),
    }),
  },
  sends: ['ETag'],
  errors: notFound,
  handle: async ({ params: { id }, query: { markers }, store }) => ({
    isTagged: true,
    body: { items: await store.catalogue.hiddenBy(id, markers) },
  }),
})

const lengths = 'must have 3 to 500 characters'
const wanted = {
  q: z
    .string()
    .min(3, { error: lengths })
    .max(500, { error: lengths })
    .describe('Text to find, verbatim except for case'),
  limit: whole(1, 1_000).default(20),
  cursor: z.string().max(300).meta({ format: 'cursor' }).optional().describe('`next` of the previous page'),
}

interface Wanted extends Pick<SearchOptions, 'limit' | 'cursor'> {
  readonly q: string
}

/** Runs a search for `q` and returns a page of hits. Throws `InvalidInput` for the field `q` if the text is invalid. */
const found = async (
  query: Wanted,
  looking: (q: string, options: SearchOptions) => Promise<SearchPage>,
): Promise<JsonResponse> => {
  const { q, ...options } = query
  try {
    const body = await looking(q, options)
    const beside = { next: body.next === undefined ? undefined : { cursor: body.next } }
    return { headers: linkHeader(query, beside), body }
  } catch (error) {
    if (!isError(error, 'InvalidInput') || error.path !== 'text') throw error
    throw toError(invalidInput('q', error.message.replace(/^text: /, '')))
  }
}

export const search = route({
  method: 'get',
  path: '/search',
  name: 'search',
  summary: 'Searches all conversations for a text',
  scope: 'read',
  query: z.strictObject(wanted),
  answers: { 200: foundShape },
  sends: ['Link'],
  handle: ({ query, store }) => found(query, (q, options) => store.catalogue.search(q, options)),
})

export const searchIn = route({
  method: 'get',
  path: '/conversations/{id}/search',
  name: 'searchIn',
  summary:
    'Searches a conversation for a text, and reports for each hit whether the model sees it now and saw it at the next reply',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject(wanted),
  answers: { 200: foundInShape },
  sends: ['Link'],
  errors: ['ConversationNotFound'],
  handle: ({ params: { id }, query, store }) =>
    found(query, (q, options) => store.catalogue.search(q, { ...options, conversation: id })),
})
