import * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound, type OutOfRange, outOfRange } from '../commands/rejections.ts'
import { type ConversationEvent, START } from '../events/events.ts'
import type { Log } from '../projections/path.ts'
import { lastPosition, readEnding } from './ends.ts'
import type { ReadError, StoreError } from './errors.ts'
import type { Lineage } from './lineage.ts'
import type { EventStore } from './port.ts'
import { pages, type Reader, reader } from './reader.ts'

/** A conversation opened for reading, as of now. */
export interface Opened {
  readonly reading: Reader
  readonly lineage: Lineage
  readonly last: number
  /** The position asked for, or the last one. */
  readonly at: number
}

/** Opens a conversation to look at it at a position; errors where there is no such conversation or position. */
export const openAt = async (
  store: EventStore,
  conversation: string,
  at?: number,
): Promise<E.Either<ReadError, Opened>> => {
  const ending = await readEnding(store, conversation)
  if (E.isLeft(ending)) return ending
  const { lineage, last: event } = ending.right
  if (!event) return E.left(conversationNotFound(conversation))
  const last = lastPosition({ lineage, revision: event.revision })
  const outside = outsideOf(conversation, at, last)
  if (outside) return E.left(outside)
  return E.right({ reading: reader(store, lineage), lineage, last, at: at ?? last })
}

/** What is wrong with a position to look from, if the conversation goes to `last`. */
export const outsideOf = (
  conversation: string,
  at: number | undefined,
  last: number,
): OutOfRange | undefined =>
  at !== undefined && !(Number.isInteger(at) && at >= START && at <= last)
    ? outOfRange(conversation, at, last)
    : undefined

/** The events of positions 0 through `last`, all of them in memory: for the projections that need the whole log. */
export const loadLog = async (reading: Reader, last: number): Promise<E.Either<StoreError, Log>> => {
  const log: ConversationEvent[] = []
  try {
    for await (const page of pages(reading, 0, last)) log.push(...page)
    return E.right(log)
  } catch (error) {
    return E.left(error as StoreError)
  }
}
