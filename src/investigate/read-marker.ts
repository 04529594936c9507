import type { Conversation, Store } from '../api/promises.ts'
import { contentOf, type ConversationEvent, type Covers } from '../events/events.ts'
import type { MarkerOutline } from '../projections/columns.ts'
import { breath } from '../store/breath.ts'
import { createLaterReader, messagesIn } from './later-messages.ts'
import { type MarkerStory, type PlacedMessage, tellStory } from './marker-story.ts'
import { wordsOf } from './terms.ts'

export interface MarkerStoryOptions {
  readonly conversation: string
  /** Position of the marker. */
  readonly marker: number
}

/** Maximum number of messages that are read before the marker, and of the first of these. */
const mostHidden = 4_000
const mostFirst = 500
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
  const before = await outlineBefore(store, id, covers, marker)
  if (!before) return undefined
  const covered = messagesOn(before, marker).filter(
    (position) => position >= before.first && position <= before.last,
  )
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

type OutlinePage = Awaited<ReturnType<Store['catalogue']['outline']>>

/** Columns of the outline, as pages that follow one another. */
interface Columns {
  readonly from: number
  /** Last position that the pages cover. */
  readonly to: number
  readonly pages: readonly OutlinePage[]
}

/** Number of events that are read first, and at most, while it is unknown where the hidden messages begin. */
const [stepBack, mostBack] = [10_000, 100_000]

/**
 * Returns the columns through a marker, from the first message that it covers at any depth, with the positions of the first and the
 * last of these messages. At a covered position there may be a marker, which covers others: the columns name what each marker covers, so
 * that no event is read for this. Returns undefined if the index has not reached the marker.
 */
const outlineBefore = async (
  store: Pick<Store, 'catalogue'>,
  id: string,
  covers: Covers,
  marker: number,
): Promise<(Columns & Covers) | undefined> => {
  const byPosition = new Map<number, MarkerOutline>()
  const leafOf = (position: number, end: 'first' | 'last'): number => {
    let at = position
    for (let inner = byPosition.get(at); inner; inner = byPosition.get(at)) at = inner[end]
    return at
  }
  let [begin, to, step] = [Math.min(covers.first, covers.last), marker, stepBack]
  let pages: readonly OutlinePage[] = []
  for (;;) {
    const more = await outlineOf(store, id, begin, to)
    if (more.at(-1)?.to !== to) return undefined
    pages = [...more, ...pages]
    for (const { markers } of more) for (const one of markers) byPosition.set(one.position, one)
    const [first, last] = [leafOf(covers.first, 'first'), leafOf(covers.last, 'last')]
    if (Math.min(first, last) >= begin) return { from: begin, to: marker, pages, first, last }
    to = begin - 1
    begin = Math.max(0, Math.min(first, last, begin - step))
    step = Math.min(mostBack, 2 * step)
  }
}

const outlineOf = async (
  { catalogue }: Pick<Store, 'catalogue'>,
  id: string,
  from: number,
  to: number,
): Promise<readonly OutlinePage[]> => {
  const pages: OutlinePage[] = []
  for (let next: number | undefined = from; next !== undefined;) {
    const page = await catalogue.outline(id, { from: next, to })
    pages.push(page)
    next = page.next
    await breath()
  }
  return pages
}

/** Returns the positions of the messages on the path at a position, in order, from the beginning of the columns. */
const messagesOn = ({ from, pages }: Columns, at: number): readonly number[] => {
  const found: number[] = []
  let position = at
  for (const page of pages.toReversed()) {
    const targets = new Map(page.rewinds.map((rewind) => [rewind.position, rewind.to]))
    while (position >= page.from && position >= from) {
      const to = targets.get(position)
      if (to === undefined) {
        if (isMessageIn(page, position)) found.push(position)
        position--
      } else position = to
    }
  }
  return found.toReversed()
}

const isMessageIn = ({ kinds, from }: OutlinePage, position: number): boolean =>
  'uracs'.includes(kinds[position - from] ?? '-')

/** Chooses the newest positions and the first ones, within the limits. */
const choose = (positions: readonly number[], { pages }: Columns): readonly number[] => {
  const sizeOf = (position: number): number => {
    const page = pages.findLast(({ from }) => from <= position)
    return page?.sizes[position - page.from] ?? 0
  }
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

/** Maximum number of events between two wanted positions that are read along: another read would take longer. */
const readAlong = 16

const readMessages = async (
  chat: Conversation,
  positions: readonly number[],
): Promise<readonly PlacedMessage[]> => {
  const found: PlacedMessage[] = []
  const wanted = new Set(positions)
  for (let index = 0; index < positions.length;) {
    const from = positions[index] ?? 0
    let end = index
    while ((positions[end + 1] ?? Infinity) <= (positions[end] ?? 0) + readAlong) end++
    for await (const event of chat.events({ from, to: positions[end] ?? from }))
      if (wanted.has(event.position)) found.push(...messagesIn(event))
    index = end + 1
  }
  return found
}

const readLater = async (chat: Conversation, marker: number) => {
  const reader = createLaterReader(marker)
  for await (const event of chat.events({ from: marker + 1 })) if (!reader.take(event)) break
  return reader.read()
}

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
