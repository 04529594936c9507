import { z } from 'zod'
import { cache, cost, markerStory, replay, why, whyAll } from '../../investigate/index.ts'
import { policySchema } from '../../investigate/replay-policy.ts'
import { openWhole, lane, openBounded, readTogether, refuseMany, shorter } from '../bounded.ts'
import { callNameIn } from '../../events/call-name.ts'
import {
  cacheShape,
  costShape,
  lossShape,
  replayedShape,
  storyShape,
  whyShape,
} from '../shapes/investigate.ts'
import { ofCall, ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { route } from '../route.ts'

// Analyses of recorded conversations. docs/investigate.md.

const inTurn = lane()
const errors = ['ConversationNotFound', 'TooLong', 'Overloaded'] as const

export const cached = route({
  method: 'get',
  path: '/conversations/{id}/cache',
  name: 'cache',
  summary: 'Lists the calls that missed the prompt cache, and the causes',
  scope: 'read',
  params: ofConversation,
  answers: { 200: cacheShape },
  errors,
  handle: ({ params: { id }, store, leaving }) =>
    inTurn(leaving, async () => ({
      body: await cache(await openWhole(store, id, `cache ${id}`, shorter.cache)),
    })),
})

export const costs = route({
  method: 'get',
  path: '/conversations/{id}/cost',
  name: 'cost',
  summary: 'Returns the cost of a conversation and its subagents, by conversation, model, day and tool',
  scope: 'read',
  params: ofConversation,
  answers: { 200: costShape },
  errors,
  handle: ({ params: { id }, store, leaving }) =>
    inTurn(leaving, async () => {
      const command = `cost ${id}`
      await openBounded(store, id, command)
      // The conversations of its subagents may be longer than the limit.
      const together = readTogether(store, command)
      const body = await cost(together.store, { conversation: id })
      together.refuse()
      return { body }
    }),
})

export const costsOfAll = route({
  method: 'get',
  path: '/cost',
  name: 'costOfAll',
  summary: 'Returns the cost of all conversations, by conversation, model, day and tool',
  scope: 'read',
  answers: { 200: costShape },
  errors: ['TooLong', 'Overloaded'],
  handle: ({ store, leaving }) =>
    inTurn(leaving, async () => {
      await refuseMany(store, 'cost')
      return { body: await cost(store) }
    }),
})

export const whyCall = route({
  method: 'get',
  path: '/conversations/{id}/calls/{call}/why',
  name: 'why',
  summary:
    'Explains a call: what the model was shown, what was hidden, and the event that caused each difference',
  scope: 'read',
  params: ofCall,
  answers: { 200: whyShape },
  errors: [...errors, 'CallOutOfRange'],
  handle: ({ params: { id, call }, store, leaving }) =>
    inTurn(leaving, async () => {
      const chat = await openWhole(store, id, `why ${id} --call ${call}`)
      return { body: await why(chat, { call: callNameIn(call) ?? 0 }) }
    }),
})

export const whyEveryCall = route({
  method: 'get',
  path: '/conversations/{id}/why',
  name: 'whyAll',
  summary: 'Lists what summaries and truncations hid although a later reply needed it, most needed first',
  scope: 'read',
  params: ofConversation,
  answers: { 200: lossShape },
  errors,
  handle: ({ params: { id }, store, leaving }) =>
    inTurn(leaving, async () => ({
      body: await whyAll(await openWhole(store, id, `why ${id} --all`, shorter.whyAll)),
    })),
})

export const storyOfMarker = route({
  method: 'get',
  path: '/conversations/{id}/markers/{marker}',
  name: 'markerStory',
  summary:
    'Tells what a marker hid (asked, failed, changed, steps) and which names in it later replies used although the summary lacks them',
  scope: 'read',
  params: ofConversation.extend({ marker: whole(0) }),
  answers: { 200: storyShape },
  errors: ['ConversationNotFound', 'OutOfRange', 'NotFound', 'Overloaded'],
  handle: ({ params: { id, marker }, store, leaving }) =>
    inTurn(leaving, async () => {
      const body = await markerStory(store, { conversation: id, marker })
      if (!body) throw requestError('NotFound', `there is no marker at position ${marker} of ${id}`)
      return { body }
    }),
})

/** Maximum size of a policy as JSON, in characters. A policy is evaluated for each call, and larger ones have no use. */
const largestPolicy = 10_000

export const replayed = route({
  method: 'post',
  path: '/conversations/{id}/replay',
  name: 'replay',
  summary: 'Simulates another context policy: what it would have sent in each call, without calling a model',
  scope: 'read',
  params: ofConversation,
  body: z.strictObject({ policy: policySchema.optional().describe('Default: the recorded one') }),
  answers: { 200: replayedShape },
  errors,
  handle: ({ params: { id }, body, store, leaving }) =>
    inTurn(leaving, async () => {
      if (JSON.stringify(body).length > largestPolicy)
        throw requestError('InvalidRequest', `a policy may have at most ${largestPolicy} characters`)
      return {
        body: await replay(
          await openWhole(store, id, `replay ${id}${body.policy ? ' --policy FILE' : ''}`, shorter.replay),
          body,
        ),
      }
    }),
})
