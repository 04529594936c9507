import * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound, type OutOfRange, outOfRange } from '../../commands/rejections.ts'
import { type ConversationEvent, START } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import type { Log } from '../../projections/path.ts'
import { catchTyped, run } from '../../result/fallible.ts'
import { type ConversationEnd, lastPosition, readConversationEnd } from './ends.ts'
import type { ReadError, StoreError } from '../../store/errors.ts'
import { type Lineage, loadLineage, type Own } from './lineage.ts'
import { endsStream } from '../../store/pages.ts'
import { type EventStore, type RecordedEvent, streamPage } from '../../store/port.ts'
import { firstPage, pages, type Reader, reader } from './reader.ts'

/** A conversation opened for reading, with its last position at that time. */
export interface OpenedConversation {
  readonly reading: Reader
  readonly lineage: Lineage
  readonly last: number
  /** The requested position; by default, the last one. */
  readonly at: number
}

/** Opens a conversation to read it at a position; fails if the conversation or the position does not exist. */
export const openAt = async (
  store: EventStore,
  conversation: string,
  at?: number,
  own: Own = {},
): Promise<E.Either<ReadError, OpenedConversation>> => {
  const end = await readConversationEnd(store, conversation, own.lineage)
  if (E.isLeft(end)) return end
  if (end.right.page.length > 0) own.lineage = end.right.lineage
  return openAtEnd(store, conversation, end.right, at)
}

/** Like `openAt`, but for an end that has already been read. */
export const openAtEnd = (
  store: EventStore,
  conversation: string,
  { lineage, last: event }: ConversationEnd,
  at?: number,
): E.Either<ReadError, OpenedConversation> => {
  if (!event) return E.left(conversationNotFound(conversation))
  const last = lastPosition({ lineage, revision: event.revision })
  const outside = outsideOf(conversation, at, last)
  if (outside) return E.left(outside)
  return E.right({ reading: reader(store, lineage), lineage, last, at: at ?? last })
}

/**
 * Like `openAt`, but for reading the events from position `from` to the end. Reads the first page of them at once, which is often all:
 * then it also shows the conversation's end.
 */
export const openFrom = async (
  store: EventStore,
  conversation: string,
  from: number,
  own: Own,
): Promise<E.Either<ReadError, OpenedConversation>> => {
  const lineage = own.lineage ? E.right(own.lineage) : await loadLineage(store, conversation)
  if (E.isLeft(lineage)) return lineage
  const [stretch] = lineage.right ?? []
  if (!lineage.right || !stretch || from < stretch.offset) return openAt(store, conversation, undefined, own)
  own.lineage = lineage.right
  const { stream, offset } = stretch
  const page = await store.read({ stream, from: from - offset, direction: 'forwards', limit: streamPage })()
  if (E.isLeft(page)) return page
  const newest = page.right.at(-1)
  const isEnd = endsStream(page.right, streamPage) && newest !== undefined && !newest.part
  const last = offset + (newest?.revision ?? 0)
  const opened = isEnd ? E.right({ last, at: last }) : await openAt(store, conversation, undefined, own)
  const reading = reader(store, lineage.right, { known: page.right.toReversed() })
  return E.map((ends: Pick<OpenedConversation, 'last' | 'at'>) => ({
    ...ends,
    reading,
    lineage: reading.lineage,
  }))(opened)
}

interface Shown extends Pick<OpenedConversation, 'reading' | 'at'> {
  /** The event at `at`, if it is the last event and has been read. */
  readonly newest?: RecordedEvent | undefined
}

/**
 * Like `openAt`, but for loading the effective history at the position. Reads the newest events up to the position at the same time as
 * the stream's first event, which tells whether the conversation is a fork.
 */
export const openShown = async (
  store: EventStore,
  conversation: string,
  at?: number,
  own: Own = {},
): Promise<E.Either<ReadError, Shown>> => {
  if (at !== undefined && !(Number.isInteger(at) && at >= 0)) return openAt(store, conversation, at, own)
  const [lineage, page] = await Promise.all([
    own.lineage ? E.right(own.lineage) : loadLineage(store, conversation),
    store.read({
      stream: streamOf(conversation),
      from: at ?? Number.MAX_SAFE_INTEGER,
      direction: 'backwards',
      limit: firstPage,
    })(),
  ])
  if (E.isLeft(lineage)) return lineage
  if (E.isLeft(page)) return page
  if (lineage.right) own.lineage = lineage.right
  const { offset = 0 } = lineage.right?.[0] ?? {}
  const [newest] = page.right
  // A position in a fork is not a revision, and the event may be missing or part of an unfinished import: `openAt` handles these cases.
  const isIt =
    newest !== undefined && !newest.part && (at === undefined || (offset === 0 && newest.revision === at))
  if (!isIt || !lineage.right) return openAt(store, conversation, at, own)
  return E.right({
    reading: reader(store, lineage.right, { known: page.right }),
    at: at ?? offset + newest.revision,
    newest: at === undefined ? newest : undefined,
  })
}

/** Returns the error for a position outside a conversation whose last position is `last`; undefined for a valid position. */
export const outsideOf = (
  conversation: string,
  at: number | undefined,
  last: number,
): OutOfRange | undefined =>
  at !== undefined && !(Number.isInteger(at) && at >= START && at <= last)
    ? outOfRange(conversation, at, last)
    : undefined

/** Loads the events at positions `from` through `last` into memory, for projections that need the whole log. */
export const loadLog = (
  reading: Reader,
  last: number,
  keep: (event: ConversationEvent) => ConversationEvent = (event) => event,
  from = 0,
): Promise<E.Either<StoreError, Log>> =>
  run(
    catchTyped(async () => {
      const log: ConversationEvent[] = []
      for await (const page of pages(reading, from, last)) for (const event of page) log.push(keep(event))
      return log
    }),
  )
