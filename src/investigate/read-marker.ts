import type { Conversation, Store } from '../api/promises.ts'
import { contentOf, type ConversationEvent } from '../events/events.ts'
import { breath } from '../store/breath.ts'
import { type MarkerStory, type PlacedMessage, tellStory } from './marker-story.ts'
import { wordsOf } from './terms.ts'

export interface MarkerStoryOptions {
  readonly conversation: string
  /** Position of the marker. */
  readonly marker: number
}

/** Maximum number of messages that are read before the marker, of the first of these, and after the marker. */
const mostHidden = 4_000
const mostFirst = 500
const mostLater = 4_000
/** Maximum number of bytes that are read of each, and of one message: larger ones are left out. */
const mostBytes = 16 * 1024 * 1024
const largest = 1024 * 1024

/**
 * Tells what a marker hid (what was asked, what failed, which files were changed, which tools were called) and which of the names in it
 * the model used again although the summary does not have them. Returns undefined if there is no marker at the position, or the index
 * has not reached it yet. Reads at most 4,000 of the hidden messages (the newest, and the first 500) and 4,000 later ones.
 *
 * Rejects with `ConversationNotFound` or another `ReadError`.
 *
 * @example
 * import { markerStory } from 'palimpsest/investigate'
 *
 * const story = await markerStory(store, { conversation: 'task-42', marker: 160 })
 * for (const { term, said, needed } of story?.lost.items ?? []) console.log(term, said, needed)
 */
export const markerStory = async (
  store: Pick<Store, 'conversation' | 'catalogue'>,
  { conversation: id, marker }: MarkerStoryOptions,
): Promise<MarkerStory | undefined> => {
  const chat = store.conversation(id)
  const event = await eventAt(chat, marker)
  if (event?.type !== 'Condensed' && event?.type !== 'Truncated') return undefined
  const { covers, view } = event.data
  const range = {
    first: await leafOf(chat, covers.first, 'first'),
    last: await leafOf(chat, covers.last, 'last'),
  }
  const before = await outlineOf(store, id, Math.min(range.first, range.last), marker)
  if (before.to < marker) return undefined
  const positions = messagesOn(before, marker)
  const covered = positions.filter((position) => position >= range.first && position <= range.last)
  const chosen = choose(covered, before)
  const hidden = await readMessages(chat, chosen)
  const later = await readLater(chat, marker)
  const kept = view?.items.flatMap((segment) => ('marker' in segment ? [] : [segment])) ?? []
  const runs = kept.flatMap(({ first, last }) => [[first, last] as const])
  return {
    conversation: id,
    marker,
    kind: event.type === 'Condensed' ? 'condensed' : 'truncated',
    messages: covered.length,
    ...(await tellStory({
      hidden,
      later: later.messages,
      summary: contentOf(event)
        .map(({ content }) => wordsOf(content))
        .join('\n'),
      kept: await readKept(chat, runs, view?.configured),
    })),
    examined: {
      hidden: hidden.length,
      later: later.messages.length,
      isAll: hidden.length === covered.length && later.isAll,
    },
  }
}

const eventAt = async (chat: Conversation, position: number): Promise<ConversationEvent | undefined> => {
  for await (const event of chat.events({ from: position, to: position })) return event
  return undefined
}

/** Returns the position of the first or last message that a covered position stands for: it may be a marker itself. */
const leafOf = async (chat: Conversation, position: number, end: 'first' | 'last'): Promise<number> => {
  let at = position
  for (;;) {
    const event = await eventAt(chat, at)
    if (event?.type !== 'Condensed' && event?.type !== 'Truncated') return at
    at = event.data.covers[end]
  }
}

/** Columns of the outline, joined from its pages. */
interface Columns {
  readonly from: number
  readonly to: number
  readonly kinds: string
  readonly sizes: readonly number[]
  readonly rewinds: readonly { readonly position: number; readonly to: number }[]
}

const outlineOf = async (
  { catalogue }: Pick<Store, 'catalogue'>,
  id: string,
  from: number,
  to: number,
): Promise<Columns> => {
  let kinds = ''
  const sizes: number[] = []
  const rewinds: Columns['rewinds'][number][] = []
  for (let next: number | undefined = from; next !== undefined;) {
    const page = await catalogue.outline(id, { from: next, to })
    kinds += page.kinds
    for (const size of page.sizes) sizes.push(size)
    rewinds.push(...page.rewinds)
    next = page.next
    await breath()
  }
  return { from, to: from + kinds.length - 1, kinds, sizes, rewinds }
}

/** Returns the positions of the messages on the path at a position, in order, from the beginning of the columns. */
const messagesOn = ({ from, kinds, rewinds }: Columns, at: number): readonly number[] => {
  const targets = new Map(rewinds.map(({ position, to }) => [position, to]))
  const found: number[] = []
  for (let position = at; position >= from;) {
    const to = targets.get(position)
    if (to === undefined) {
      if ('uracs'.includes(kinds[position - from] ?? '-')) found.push(position)
      position--
    } else position = to
  }
  return found.toReversed()
}

/** Chooses the newest positions and the first ones, within the limits. */
const choose = (positions: readonly number[], { from, sizes }: Columns): readonly number[] => {
  const sizeOf = (position: number): number => sizes[position - from] ?? 0
  const fitting = positions.filter((position) => sizeOf(position) <= largest)
  let bytes = 0
  const take = (some: readonly number[]): readonly number[] => {
    const end = some.findIndex((position) => (bytes += sizeOf(position)) > mostBytes)
    return end < 0 ? some : some.slice(0, end)
  }
  if (fitting.length <= mostHidden) return take(fitting.toReversed()).toReversed()
  const newest = take(fitting.slice(mostFirst - mostHidden).toReversed()).toReversed()
  return [...take(fitting.slice(0, mostFirst)), ...newest]
}

const placed = (event: ConversationEvent): readonly PlacedMessage[] =>
  event.type === 'MessageAppended'
    ? contentOf(event).map((message) => ({ ...message, position: event.position }))
    : []

const readMessages = async (
  chat: Conversation,
  positions: readonly number[],
): Promise<readonly PlacedMessage[]> => {
  const found: PlacedMessage[] = []
  for (let index = 0; index < positions.length;) {
    const from = positions[index] ?? 0
    let end = index
    while (positions[end + 1] === (positions[end] ?? 0) + 1) end++
    for await (const event of chat.events({ from, to: positions[end] ?? from })) found.push(...placed(event))
    index = end + 1
  }
  return found
}

/** Reads the messages after a marker until a restore or rewind undoes the marker. Messages that rewinds abandoned are left out. */
const readLater = async (chat: Conversation, marker: number) => {
  const messages: PlacedMessage[] = []
  const targets = new Map<number, number>()
  let bytes = 0
  for await (const event of chat.events({ from: marker + 1 })) {
    if (event.type === 'Restored' && event.data.marker === marker) break
    if (event.type === 'Rewound') {
      let { to } = event.data
      for (let next = targets.get(to); next !== undefined; next = targets.get(to)) to = next
      targets.set(event.position, to)
      if (to < marker) break
      while ((messages.at(-1)?.position ?? -1) > to) messages.pop()
      continue
    }
    messages.push(...placed(event))
    bytes += event.type === 'MessageAppended' ? sizeOf(event) : 0
    if (messages.length >= mostLater || bytes > mostBytes) return { messages, isAll: false }
  }
  return { messages, isAll: true }
}

const sizeOf = (event: ConversationEvent): number => JSON.stringify(event.data).length

/** Maximum number of kept messages that are searched for a name: the newest ones. */
const mostKept = 500

/** Returns the text of the kept messages, the system prompt and the tools. */
const readKept = async (
  chat: Conversation,
  runs: readonly (readonly [number, number])[],
  configured: number | undefined,
): Promise<string> => {
  const texts: string[] = []
  let [left, bytes] = [mostKept, mostBytes]
  for (const [first, last] of runs.toReversed()) {
    const from = Math.max(first, last - left + 1)
    for await (const event of chat.events({ from, to: last })) {
      const text = contentOf(event)
        .map(({ content }) => wordsOf(content))
        .join('\n')
      bytes -= text.length
      if (bytes < 0) break
      texts.push(text)
    }
    left -= last - from + 1
    if (left <= 0 || bytes < 0) break
  }
  const event = configured === undefined ? undefined : await eventAt(chat, configured)
  if (event?.type === 'Configured') texts.push(JSON.stringify([event.data.system, event.data.tools]))
  return texts.join('\n')
}
