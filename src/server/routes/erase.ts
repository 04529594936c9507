import { z } from 'zod'
import { lane, openBounded } from '../bounded.ts'
import { flag, ofConversation } from '../parameters.ts'
import { route } from '../route.ts'
import { erasureShape, holdShape } from '../shapes/erase.ts'

// Erasure of content, and the legal holds that prevent it. The name of the token is recorded as the person who decided. docs/erasure.md.

const inTurn = lane()
const positions = z.array(z.int().min(0)).max(10_000).optional()
const reason = z.string().optional().describe('Reason, recorded in the log')
const ofErasure = { params: ofConversation, scope: 'erase', repeats: 'kept' } as const

export const erase = route({
  ...ofErasure,
  method: 'post',
  path: '/conversations/{id}/erase',
  name: 'erase',
  summary: 'Erases content for good; with `dryRun=true`, only returns what it would erase',
  query: z.strictObject({ dryRun: flag.default(false) }),
  body: z.strictObject({
    positions: positions.describe(
      "Positions of the conversation's own events to erase. Default: all events, notes, records of turns and queued messages",
    ),
    notes: positions.describe(
      "Notes and links to erase, by their index in the conversation's notes. Default: none if `positions` are given, else all",
    ),
    before: z.iso
      .datetime()
      .transform((text) => new Date(text))
      .optional()
      .describe('Time before which the content must have been recorded, in UTC. Default: no limit'),
    reason,
    again: z
      .boolean()
      .default(false)
      .describe(
        'Erase once more what the conversation records as erased, in a restored copy: the other fields are then ignored',
      ),
  }),
  answers: { 200: erasureShape },
  errors: ['ConversationNotFound', 'CannotErase', 'OutOfRange', 'EventTooLarge', 'TooLong', 'Overloaded'],
  handle: ({ params: { id }, query, body, identity: { by }, store, leaving }) =>
    inTurn(leaving, async () => {
      const chat = await openBounded(store, id, `erase ${id}`)
      return { body: await chat.erase({ ...body, ...query, by }) }
    }),
})

const held = { 200: z.object({ hold: holdShape.optional() }) }

export const hold = route({
  ...ofErasure,
  method: 'post',
  path: '/conversations/{id}/hold',
  name: 'hold',
  summary:
    'Puts a conversation under a legal hold: nothing of it, or of its subagents, is erased until it is released',
  body: z.strictObject({ reason }),
  answers: held,
  errors: ['ConversationNotFound', 'EventTooLarge'],
  handle: async ({ params: { id }, body, identity: { by }, store }) => {
    const chat = store.conversation(id)
    await chat.hold({ ...body, by })
    return { body: { hold: await chat.legalHold() } }
  },
})

export const release = route({
  ...ofErasure,
  method: 'post',
  path: '/conversations/{id}/release',
  name: 'release',
  summary: 'Ends the legal hold of this name on a conversation',
  body: z.strictObject({ reason }),
  answers: held,
  errors: ['ConversationNotFound', 'CannotRelease', 'EventTooLarge'],
  handle: async ({ params: { id }, body, identity: { by }, store }) => {
    const chat = store.conversation(id)
    await chat.release({ ...body, by })
    return { body: { hold: await chat.legalHold() } }
  },
})

export const legalHold = route({
  method: 'get',
  path: '/conversations/{id}/hold',
  name: 'legalHold',
  summary:
    'Returns the oldest legal hold on a conversation, or on the one whose subagent it is, if there is one',
  scope: 'read',
  params: ofConversation,
  answers: held,
  handle: async ({ params: { id }, store }) => ({ body: { hold: await store.conversation(id).legalHold() } }),
})
