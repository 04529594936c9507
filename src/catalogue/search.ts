import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../events/codec.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { ConversationEvent } from '../events/events.ts'
import { streamOf } from '../events/ids.ts'
import { type Excerpt, excerptOf, fold } from '../projections/excerpts.ts'
import type { MessageHit, MessageHits, TitleHit } from '../projections/lookups.ts'
import { unwrap, type Fallible } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'
import { isOfEvent, type StoreError } from '../store/errors.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore } from '../store/port.ts'
import { type Candidate, candidatesOf } from './candidates.ts'
import { cursorOf, cursorText } from './cursor.ts'
import type { Feed } from './feed.ts'
import type { CatalogueFile } from './file.ts'
import type { IndexFile } from './index-file.ts'
import { partsOf } from './lineage.ts'
import { createPatience } from './patience.ts'
import { titlesWith, titleWith } from './titles.ts'
import { isSearchable, longestQuery, shortestQuery } from './texts.ts'
import type { ConversationRow } from './conversation-row.ts'
import { type VisibilityLookup, viewOf } from './views.ts'

/** Text and scope of a search. */
export interface SearchQuery {
  readonly text: string
  /** Conversation to search, up to and including its `last` position; undefined to search all conversations. */
  readonly conversation: ConversationRow | undefined
  readonly limit: number
  readonly cursor: string | undefined
}

/** Returns an error if a value cannot be used as search text, otherwise undefined. */
export const unsearchable = (text: unknown): InvalidInput | undefined =>
  typeof text === 'string' && isSearchable(text)
    ? undefined
    : invalidInput('text', `must have ${shortestQuery} to ${longestQuery} characters`)

/** Describes the conversations that are not indexed to their end, because an event cannot be read; undefined if there are none. */
export const noteOfUnread = (db: DatabaseSync): string | undefined => {
  const [first, ...more] = db
    .prepare('SELECT id, last, problem FROM threads WHERE problem IS NOT NULL ORDER BY n')
    .all()
  if (!first) return undefined
  const others = more.length === 0 ? '' : ` and ${more.length} more: palimpsest verify names them`
  return `not searched: ${String(first['id'])} from position ${Number(first['last']) + 1} (${String(first['problem'])})${others}`
}

/** Searches for a text verbatim, ignoring only case. */
export async function* searchText(
  store: EventStore,
  feed: Feed,
  { text, conversation, limit, cursor }: SearchQuery,
): Fallible<StoreError | InvalidInput, MessageHits> {
  const wanted = fold(text)
  const titlesOf = ({ rows }: IndexFile, { db }: CatalogueFile): readonly TitleHit[] =>
    conversation ? titleWith(db, partsOf(rows, conversation), wanted) : titlesWith(db, wanted, limit)
  const build = feed.read((indexed) => indexed.build)
  const [doc, position] = cursor === undefined ? [] : yield* unwrap(cursorOf(cursor, build, 2))
  const through = typeof doc === 'number' ? doc : Number.MAX_SAFE_INTEGER
  let before = typeof position === 'number' ? position : Infinity
  const items: MessageHit[] = []
  const titles = cursor === undefined ? feed.read(titlesOf) : []
  const views = viewsOf(feed, conversation)
  const mayExamine = createPatience()
  let problem: string | undefined
  const answer = (next?: readonly [doc: number, before: number]): MessageHits => ({
    titles,
    items,
    ...(next && { next: cursorText({ build, after: next }) }),
    ...(problem !== undefined && { problem }),
  })

  const parts = conversation && feed.read(({ rows }) => partsOf(rows, conversation))
  const threads = parts && new Set(parts.map(({ row }) => row.n))
  for await (const candidate of candidatesOf(feed, { wanted, parts, through })) {
    const view = threads?.has(candidate.thread) === false ? undefined : views(candidate.thread)
    const read = view && (yield* eventsOf(store, view, candidate))
    problem ??= read?.problem
    for (const event of read?.events.toReversed() ?? []) {
      const excerpt = event.position < before ? excerptOf(event, wanted) : undefined
      if (!view || !excerpt) continue
      if (items.length === limit) return answer([candidate.doc, event.position + 1])
      items.push(hitOf(view.conversation, await view.view(), event, excerpt))
    }
    before = Infinity
    await breath()
    if (!mayExamine(1)) return answer([candidate.doc - 1, Number.MAX_SAFE_INTEGER])
  }
  return answer()
}

/** A thread being searched: by itself, or as part of the searched conversation. */
interface Looked {
  /** Conversation in which a hit is reported. */
  readonly conversation: string
  readonly thread: ConversationRow
  /** Last position of the thread that belongs to that conversation. */
  readonly last: number
  readonly view: () => Promise<VisibilityLookup>
}

const viewsOf = (feed: Feed, conversation: ConversationRow | undefined) => {
  const known = new Map<number, Looked | undefined>()
  const look = (n: number): Looked | undefined =>
    feed.read(({ rows }) => {
      const thread = rows.byNumber(n)
      const whole = conversation ?? thread
      if (!thread || !whole) return undefined
      const { last = -1 } = partsOf(rows, whole).find(({ row }) => row.n === n) ?? {}
      let its: Promise<VisibilityLookup> | undefined
      const view: Looked['view'] = () => (its ??= viewOf(feed, whole))
      return { conversation: whole.id, thread, last, view }
    })
  return (n: number): Looked | undefined => {
    if (!known.has(n)) known.set(n, look(n))
    return known.get(n)
  }
}

/**
 * Returns the events of a candidate that are in the scope of the search. Stops at an event that cannot be read and then returns the
 * reason as `problem`.
 */
async function* eventsOf(
  store: EventStore,
  { thread: { id, from }, last: end }: Pick<Looked, 'thread' | 'last'>,
  { first, last }: Candidate,
): Fallible<StoreError, { readonly events: readonly ConversationEvent[]; readonly problem?: string }> {
  const stream = streamOf(id)
  const events: ConversationEvent[] = []
  for await (const page of pagesOf(store, stream, { from: first - from, to: Math.min(last, end) - from })) {
    if (E.isLeft(page) && isOfEvent(page.left)) return { events, problem: page.left.message }
    for (const stored of yield* unwrap(page)) {
      const { revision } = stored
      const decoded = decode(stored, { stream, revision, position: from + revision })
      if (E.isLeft(decoded)) return { events, problem: decoded.left.message }
      events.push(decoded.right)
    }
  }
  return { events }
}

/** Reports whether a text occurs in a range of a thread. */
export async function* textIn(
  store: EventStore,
  thread: ConversationRow,
  candidate: Candidate,
  wanted: string,
): Fallible<StoreError, boolean> {
  const { events } = yield* eventsOf(store, { thread, last: thread.last }, candidate)
  return events.some((event) => excerptOf(event, wanted))
}

const hitOf = (
  conversation: string,
  view: VisibilityLookup,
  event: ConversationEvent,
  excerpt: Excerpt,
): MessageHit => {
  const { position, metadata } = event
  const [kind, states] = [view.kindAt(position), view.statesOf(position)]
  return { conversation, position, kind, time: metadata.time, excerpt, ...states }
}
