import { z } from 'zod'
import { clippedItem } from '../../core.ts'
import type { Conversation, Entry, Store } from '../../index.ts'
import { effectiveChanges, entryChanges, requestChanges } from '../diffs.ts'
import { clip, ofConversation, whole } from '../parameters.ts'
import { type Answer, route } from '../route.ts'
import { diffShape, fullDiffShape, requestDiffShape } from '../shapes/diffs.ts'
import { tagged } from './tags.ts'

const subjects = ['effective', 'full', 'request'] as const
interface Wanted {
  readonly from: number
  readonly to: number
  readonly clip: number | undefined
}

export const diff = route({
  method: 'get',
  path: '/conversations/{id}/diff',
  name: 'diff',
  summary: 'How what the model sees differs between two positions, or the full history, or the request',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    from: whole(-1),
    to: whole(-1).optional().describe('Either may be the later one. Default: the last one'),
    of: z
      .enum(subjects)
      .default('effective')
      .describe('What the model sees; every entry and what became of it; what the model would be sent'),
    clip,
  }),
  answers: { 200: z.union([requestDiffShape, fullDiffShape, diffShape]) },
  errors: ['ConversationNotFound', 'OutOfRange'],
  handle: async ({ params, query, store }): Promise<Answer> => {
    const chat = store.conversation(params.id)
    const { from: first, to = await chat.position(), of, clip: longest } = query
    const wanted = { from: first, to, clip: longest }
    return tagged(chat, Math.max(to, first), ['diff', of, wanted], await differences[of](chat, wanted, store))
  },
})

const differences: Readonly<
  Record<(typeof subjects)[number], (chat: Conversation, wanted: Wanted, store: Store) => Promise<object>>
> = {
  effective: async (chat, { from: first, to, clip: longest }, store) => {
    const { changes, ...of } = await effectiveChanges(store, chat, { from: first, to })
    return { ...of, changes: changes.map(clippedTo(longest)) }
  },
  full: async (chat, { from: first, to, clip: longest }) => {
    const [before, after] = await Promise.all([entriesAt(chat, first), entriesAt(chat, to)])
    const changes = entryChanges(before, after)
    return { from: first, to, of: 'full', changes: changes.map(clippedTo(longest)) }
  },
  request: async (chat, { from: first, to }) => {
    const [before, after] = await Promise.all([chat.render({ at: first }), chat.render({ at: to })])
    return { from: first, to, of: 'request', ...requestChanges(before, after) }
  },
}

/** Before the first event there are none. */
const entriesAt = (chat: Conversation, at: number): Promise<readonly Entry[]> =>
  at < 0 ? Promise.resolve([]) : chat.full({ at, abandoned: true })

const clippedTo =
  (longest: number | undefined) =>
  <C extends { readonly entry: Entry }>(change: C): C =>
    longest === undefined ? change : { ...change, entry: clippedItem(change.entry, longest) }
