import * as E from 'fp-ts/lib/Either.js'
import { eventId, streamOf } from '../events/ids.ts'
import type { StoreError } from '../store/errors.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore, Found, RecordedEvent } from '../store/port.ts'
import { type CompleteEnvelope, type Written, writtenAt } from './encode.ts'
import { type ChainEnd, lastPosition } from './ends.ts'

type Result<A> = Promise<E.Either<StoreError, A>>

const nothing: Found = { revision: undefined, through: Infinity }

/** Looks for what a named command has written; finds nothing of one that cannot have been repeated. */
export const findEarlier = async (
  store: EventStore,
  conversation: string,
  { commandId, isNamed }: CompleteEnvelope,
): Result<Found> => {
  const stream = streamOf(conversation)
  return isNamed ? store.find(stream, eventId(stream, commandId, 0))() : E.right(nothing)
}

/** What the command wrote the first time, if this is not the first. */
export const earlier = async (
  store: EventStore,
  conversation: string,
  envelope: CompleteEnvelope,
  end: ChainEnd,
  looked: Found,
): Result<Written | undefined> => {
  const stream = streamOf(conversation)
  // What came between the look and the end may be the command's.
  const isSure = looked.revision !== undefined || looked.through >= end.revision
  const found = isSure ? E.right(looked) : await findEarlier(store, conversation, envelope)
  if (E.isLeft(found)) return found
  const { revision } = found.right
  if (revision === undefined) return E.right(undefined)
  const events: RecordedEvent[] = []
  for await (const page of pagesOf(store, stream, { from: revision })) {
    if (E.isLeft(page)) return page
    const own = page.right.filter(
      ({ id }, index) => id === eventId(stream, envelope.commandId, events.length + index),
    )
    events.push(...own)
    if (own.length < page.right.length) break
  }
  return E.right(writtenAt(conversation, lastPosition({ ...end, revision }), events))
}
