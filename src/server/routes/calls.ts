import { z } from 'zod'
import { callOf, rebuildRequest, type CalledRequest, usdOf } from '../calls.ts'
import { stepsOf } from '../call-steps.ts'
import { linkHeader } from '../paging.ts'
import { flag, limit, ofCall, ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { entityTag } from '../reply.ts'
import { route } from '../route.ts'
import { callShape, sentShape } from '../shapes/calls.ts'

// Model calls: the requests that were sent, and the receipts that prove them.

const errors = ['ConversationNotFound', 'CallOutOfRange', 'UnknownRenderer', 'NotFound', 'TooLong'] as const

export const calls = route({
  method: 'get',
  path: '/conversations/{id}/calls',
  name: 'calls',
  summary: 'Lists the model calls, in the order of their answers; replies without a receipt have no number',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    from: whole(0).default(0).describe('Only calls whose answer is at this position or later'),
    limit: limit.default(1_000),
    steps: flag
      .default(false)
      .describe('With the steps of each call: times, turn, tools, approvals, and the cost'),
  }),
  answers: {
    200: z.object({
      next: z.int().optional().describe('`from` for the next page; absent on the last page'),
      items: z.array(callShape),
    }),
  },
  sends: ['Link'],
  errors: ['ConversationNotFound'],
  handle: async ({ params, query, store }) => {
    const { steps: isWithSteps, ...page } = query
    const { items, next } = await store.catalogue.calls(params.id, page)
    const steps = isWithSteps ? await stepsOf(store, params.id, items, next) : undefined
    const said = items.map(({ origin, ...its }, index) => {
      // The receipt is already a field of the call.
      const { context: _, ...rest } = origin
      const isLast = items[index + 1]?.position !== its.position
      const step = isLast ? steps?.get(its.position) : undefined
      return { ...its, origin: rest, ...(step && { step }) }
    })
    return next === undefined
      ? { body: { items: said } }
      : { headers: linkHeader(query, { next: { from: next } }), body: { next, items: said } }
  },
})

export const sent = route({
  method: 'get',
  path: '/conversations/{id}/calls/{call}',
  name: 'sent',
  summary: 'Returns the request of a call, rebuilt from the log and compared with the receipt',
  scope: 'read',
  params: ofCall,
  answers: { 200: sentShape },
  errors,
  sends: ['ETag'],
  handle: async ({ params, store }) => {
    const { json: _, ...body } = await rebuildRequest(store, params.id, params.call)
    const usd = usdOf(body.origin)
    return { isTagged: true, body: { ...body, ...(usd !== undefined && { usd }) } }
  },
})

const receiptHeaders = ({ state, receipt, finding, betas }: CalledRequest) => ({
  'palimpsest-receipt': state,
  ...(receipt && { 'palimpsest-digest': receipt.digest }),
  ...(finding?.path !== undefined && { 'palimpsest-difference': finding.path }),
  ...(finding?.event !== undefined && { 'palimpsest-difference': `event ${finding.event}` }),
  ...(Array.isArray(betas) && { 'palimpsest-betas': betas.join(',') }),
})

export const exact = route({
  method: 'get',
  path: '/conversations/{id}/calls/{call}/request',
  name: 'exact',
  summary: 'Returns the body of a call byte for byte as sent, rebuilt from the log. Accepts `Range`',
  scope: 'read',
  params: ofCall,
  answers: {},
  media: ['application/json'],
  isRanged: true,
  sends: ['ETag', 'Palimpsest-Receipt', 'Palimpsest-Digest', 'Palimpsest-Difference', 'Palimpsest-Betas'],
  errors: [...errors, 'RangeNotSatisfiable'],
  handle: async ({ params, store }) => {
    const called = await rebuildRequest(store, params.id, params.call)
    const etag = entityTag(called.json)
    return {
      headers: { ...receiptHeaders(called), etag },
      type: 'application/json',
      bytes: Buffer.from(called.json),
    }
  },
})

export const receipt = route({
  method: 'get',
  path: '/conversations/{id}/calls/{call}/receipt',
  name: 'receipt',
  summary: 'Returns the receipt of a call as recorded with the reply',
  scope: 'read',
  params: ofCall,
  answers: { 200: callShape.shape.receipt.unwrap() },
  errors: ['ConversationNotFound', 'CallOutOfRange', 'NotFound', 'TooLong'],
  handle: async ({ params, store }) => {
    const { call: called } = await callOf(store, params.id, Number(params.call))
    if (called) return { body: called.receipt }
    const { state } = await rebuildRequest(store, params.id, params.call)
    throw requestError('NotFound', `this call has no receipt: its request is ${state}`)
  },
})
