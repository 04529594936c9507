import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { eventId, streamOf } from '../../events/ids.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import { pagesOf } from '../../store/pages.ts'
import type { EventStore, FindResult, RecordedEvent } from '../../store/port.ts'
import { type CompleteEnvelope, type WriteResult, writeResultAt } from './encode.ts'
import { type ChainEnd, lastPosition } from '../reading/ends.ts'

const nothing: FindResult = { revision: undefined, through: Infinity }

/**
 * Looks up the events that were written under the command's id. Finds nothing if the caller gave no id, because such a command cannot
 * be a repeat.
 */
export const findEarlier = (
  store: EventStore,
  conversation: string,
  { commandId, isNamed }: CompleteEnvelope,
): TaskEither<StoreError, FindResult> => {
  const stream = streamOf(conversation)
  return isNamed ? store.find(stream, eventId(stream, commandId, 0)) : async () => E.right(nothing)
}

/** Returns the result of the first execution if the command is a repeat; otherwise undefined. */
export async function* earlier(
  store: EventStore,
  conversation: string,
  envelope: CompleteEnvelope,
  end: ChainEnd,
  looked: FindResult,
): Fallible<StoreError, WriteResult | undefined> {
  const stream = streamOf(conversation)
  // Events appended between the lookup and the end may be the command's.
  const isSure = looked.revision !== undefined || looked.through >= end.revision
  const { revision } = isSure ? looked : yield* unwrap(findEarlier(store, conversation, envelope))
  if (revision === undefined) return undefined
  const events: RecordedEvent[] = []
  for await (const read of pagesOf(store, stream, { from: revision })) {
    const page = yield* unwrap(read)
    const own = page.filter(
      ({ id }, index) => id === eventId(stream, envelope.commandId, events.length + index),
    )
    events.push(...own)
    if (own.length < page.length) break
  }
  return writeResultAt(conversation, lastPosition({ ...end, revision }), events)
}
