import type * as E from 'fp-ts/lib/Either.js'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import { eventId, newCommandId } from '../../events/ids.ts'
import type { StoredEvent } from '../../events/codec.ts'
import { completeEnvelope, metadataOf } from '../../conversation/writing/encode.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import type { StoreError } from '../../store/errors.ts'
import type { EventStore, RecordedEvent } from '../../store/port.ts'
import { ledgerCodec } from './facts.ts'

/** A fact of one of the types in `facts.ts`. */
type Encoded = Parameters<typeof ledgerCodec.encode>[0]
type Type = Encoded['type']
type Data<T extends Type> = Extract<Encoded, { readonly type: T }>['data']

/**
 * Encodes a fact for storage.
 *
 * @param index index of the fact in its stream; if given, writing the fact twice has the same effect as writing it once
 */
export const encodeFact = (
  stream: string,
  fact: Encoded,
  actor: Actor,
  index?: number,
): E.Either<InvalidInput | EventTooLarge, StoredEvent> => {
  const commandId = index === undefined ? newCommandId() : String(index)
  const metadata = { ...metadataOf(completeEnvelope({ commandId }, actor)), prev: null }
  return ledgerCodec.encode(fact, eventId(stream, commandId, 0), metadata)
}

/** Returns the data, revision and time of an event. Fails with `DecodeFailed` if the event has another type. */
export async function* dataOf<T extends Type>(
  event: RecordedEvent,
  type: T,
): Fallible<StoreError, { readonly data: Data<T>; readonly revision: number; readonly time: string }> {
  const fact = yield* unwrap(ledgerCodec.decode(event, event))
  if (fact.type === type)
    return { data: fact.data as Data<T>, revision: event.revision, time: fact.metadata.time }
  const message = `event ${event.revision} of stream ${event.stream} is ${fact.type}, not ${type}: restore a backup`
  return yield { _tag: 'DecodeFailed', message, stream: event.stream, revision: event.revision }
}

/** Returns the last event of a stream; undefined if the stream is empty. */
export async function* lastOf(
  store: EventStore,
  stream: string,
): Fallible<StoreError, RecordedEvent | undefined> {
  const from = Number.MAX_SAFE_INTEGER
  const [last] = yield* unwrap(store.read({ stream, from, direction: 'backwards', limit: 1 }))
  return last
}

export interface FactWriter {
  readonly store: EventStore
  readonly actor: Actor
}

/** Appends a fact, retrying if another writer appends to the stream at the same time. */
export async function* record(
  { store, actor }: FactWriter,
  stream: string,
  fact: Encoded,
): Fallible<StoreError | InvalidInput | EventTooLarge, void> {
  const event = yield* unwrap(encodeFact(stream, fact, actor))
  yield* despiteConflicts(async function* (): Fallible<StoreError | InvalidInput | EventTooLarge, void> {
    const expected = (yield* lastOf(store, stream))?.revision ?? -1
    yield* unwrap(store.append({ stream, events: [event], expected, repeat: 'none' }))
  })
}
