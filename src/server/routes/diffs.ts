import { z } from 'zod'
import { clippedItem } from '../../core.ts'
import { withoutContent } from '../../transfer/formats/write-markdown.ts'
import { endOf } from '../exports.ts'
import type { Conversation, ConversationEvent, Entry, Store } from '../../index.ts'
import { full } from '../../projections/full.ts'
import { itemIn } from '../../projections/effective.ts'
import type { Log } from '../../projections/path.ts'
import { bytesOf, largestAnswer, readView } from '../bounded.ts'
import { effectiveChanges, type EntryChange, entryChanges, requestChanges } from '../diffs.ts'
import { clip, ofConversation, whole } from '../parameters.ts'
import { type JsonResponse, route } from '../route.ts'
import { diffShape, fullDiffShape, requestDiffShape } from '../shapes/diffs.ts'

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
  summary: 'Compares two positions: what the model sees, the full history, or the request',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({
    from: whole(-1),
    to: whole(-1).optional().describe('May be earlier or later than `from`. Default: the last position'),
    of: z
      .enum(subjects)
      .default('effective')
      .describe(
        'What to compare: what the model sees; every entry with its status; or the request to the model',
      ),
    clip,
  }),
  answers: { 200: z.union([requestDiffShape, fullDiffShape, diffShape]) },
  sends: ['ETag'],
  errors: ['ConversationNotFound', 'OutOfRange', 'TooLong'],
  handle: async ({ params, query, store }): Promise<JsonResponse> => {
    const chat = store.conversation(params.id)
    const { from: first, to = await chat.position(), of, clip: longest } = query
    const wanted = { from: first, to, clip: longest }
    return { isTagged: true, body: await differences[of](chat, wanted, store) }
  },
})

const differences: Readonly<
  Record<(typeof subjects)[number], (chat: Conversation, wanted: Wanted, store: Store) => Promise<object>>
> = {
  effective: async (chat, { from: first, to, clip: longest }, store) => {
    await checkShown(chat, first, to)
    const { changes, ...of } = await effectiveChanges(store, chat, { from: first, to })
    return { ...of, changes: changes.map(clippedTo(longest)) }
  },
  full: async (chat, { from: first, to, clip: longest }) => {
    await endOf(chat, Math.max(first, to))
    const log: ConversationEvent[] = []
    for await (const event of chat.events({ to: Math.max(first, to) })) log.push(withoutContent(event))
    const changes = entryChanges(entriesAt(log, first), entriesAt(log, to))
    return { from: first, to, of: 'full', changes: await withContent(chat, changes, longest) }
  },
  request: async (chat, { from: first, to }) => {
    await checkShown(chat, first, to)
    const [before, after] = [await chat.render({ at: first }), await chat.render({ at: to })]
    return { from: first, to, of: 'request', ...requestChanges(before, after) }
  },
}

/** Returns the full history at a position. It is empty before the first event. */
const entriesAt = (log: Log, at: number): readonly Entry[] =>
  at < 0 ? [] : full(log, { at, abandoned: true })

/** Adds the content of entries to their changes by reading the events again. Throws `TooLong` if the content is too large. */
const withContent = async (
  chat: Conversation,
  changes: readonly EntryChange[],
  longest: number | undefined,
): Promise<readonly EntryChange[]> => {
  const [first, last] = [changes[0]?.entry.position, changes.at(-1)?.entry.position]
  if (first === undefined || last === undefined) return []
  const add = bytesOf(chat.id, `log ${chat.id}`, largestAnswer)
  const made: EntryChange[] = []
  for await (const event of chat.events({ from: first, to: last })) {
    const change = changes[made.length]
    const item = change?.entry.position === event.position ? itemIn(event) : undefined
    if (!change || !item) continue
    const shown = clippedTo(longest)({ ...change, entry: { ...change.entry, ...item } })
    add(JSON.stringify(shown))
    made.push(shown)
  }
  return made
}

const checkShown = async (chat: Conversation, ...positions: readonly number[]): Promise<void> => {
  for (const at of positions)
    if (at >= 0) await readView(chat, at, `diff ${chat.id} --from ${positions[0]} --to ${positions[1]}`)
}

const clippedTo =
  (longest: number | undefined) =>
  <C extends { readonly entry: Entry }>(change: C): C =>
    longest === undefined ? change : { ...change, entry: clippedItem(change.entry, longest) }
