import type * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../../events/codec.ts'
import type { DecodeFailed, EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Metadata } from '../../events/events.ts'
import { eventId, newCommandId } from '../../events/ids.ts'
import { unwrap, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import { eventMissing } from '../../store/dense.ts'
import { importUnfinished, type StoreError } from '../../store/errors.ts'
import { backwards, pagesOf } from '../../store/pages.ts'
import { type EventStore, type RecordedEvent, streamPage } from '../../store/port.ts'
import { readStreamEnd } from '../../store/whole/whole-writes.ts'
import { type CompleteEnvelope, metadataOf } from '../writing/encode.ts'

/** The name of a side stream, and the id of the conversation or worker that it belongs to. */
interface SideName {
  readonly stream: string
  readonly of: string
  /** True if each event contains the hash of the one before it. Default true. */
  readonly isChained?: boolean
}

/** The functions of a codec that encode and decode events. */
interface FactCodec<Fact, Recorded> {
  readonly encode: (fact: Fact, id: string, metadata: Omit<Metadata, 'schema'>) => Encoded
  readonly decode: (stored: RecordedEvent, place: RecordedEvent) => E.Either<DecodeFailed, Recorded>
}
type Encoded = E.Either<InvalidInput | EventTooLarge, StoredEvent>
type SideError = StoreError | InvalidInput | EventTooLarge

/**
 * The end of a stream, to which the next event is chained. For an empty stream, the revision is -1. The hash is null for an empty or an
 * unchained stream.
 */
export interface SideEnd {
  readonly revision: number
  readonly hash: string | null
}

/** A stream of events that belongs to a conversation or a worker but is separate from the conversation's own stream. */
export interface SideStream<Fact, Recorded> {
  /**
   * Reads the end of the stream, where the next event is to be appended. Fails with `ImportUnfinished` if events of an unfinished
   * import come after the end.
   */
  readonly end: () => Fallible<StoreError, SideEnd>
  /**
   * Appends events directly after `after`. Fails with `Conflict`, and writes nothing, if another writer has appended since.
   *
   * @param isFindable true to derive the event ids from the command id, if the caller gave one, so that a repeat is recognised
   * @returns the end of the stream after the append, and the id of the first event appended
   */
  readonly append: (
    facts: readonly Fact[],
    after: SideEnd,
    envelope: CompleteEnvelope,
    isFindable?: boolean,
  ) => Fallible<SideError, SideEnd & { readonly first: string | undefined }>
  /**
   * Appends an event at the current end of the stream and returns it as stored. A repeat under the same `commandId` writes nothing and
   * returns the first event.
   *
   * @param factNow builds the event data; called for each attempt
   */
  readonly record: <Failure extends { readonly _tag: string }>(
    factNow: () => E.Either<Failure, Fact> | Promise<E.Either<Failure, Fact>>,
    envelope: CompleteEnvelope,
  ) => Fallible<SideError | Failure, Recorded>
  /** Finds the event recorded under a command id. */
  readonly find: (commandId: string) => Fallible<StoreError, Recorded | undefined>
  /** Reads the events after a revision, in order, up to and including the revision `to` (default: the last one). */
  readonly since: (revision: number, to?: number) => Fallible<StoreError, readonly Recorded[]>
  /**
   * Yields the events newest first, without those of an unfinished import; with `type`, only events of that type. Throws a `StoreError`
   * during iteration.
   */
  readonly newest: (type?: string) => AsyncGenerator<Recorded, void>
}

/**
 * Returns a reader and writer of one side stream. All writes to side streams go through it. It chains each event to the one before it,
 * unless `isChained` is false.
 */
export const sideStream = <Fact, Recorded>(
  store: EventStore,
  { stream, of, isChained = true }: SideName,
  { encode, decode }: FactCodec<Fact, Recorded>,
): SideStream<Fact, Recorded> => {
  async function* at(revision: number): Fallible<StoreError, Recorded> {
    const [event] = yield* unwrap(store.read({ stream, from: revision, direction: 'forwards', limit: 1 }))
    return event ? yield* unwrap(decode(event, event)) : yield eventMissing(stream, revision)
  }

  async function* find(commandId: string): Fallible<StoreError, Recorded | undefined> {
    const { revision } = yield* unwrap(store.find(stream, eventId(stream, commandId, 0)))
    return revision === undefined ? undefined : yield* at(revision)
  }

  async function* end(): Fallible<StoreError, SideEnd> {
    const { last, unfinished } = yield* readStreamEnd(store, stream)
    if (unfinished) return yield importUnfinished(of)
    return { revision: last?.revision ?? -1, hash: last && isChained ? hashOf(last) : null }
  }

  async function* write(
    facts: readonly Fact[],
    after: SideEnd,
    envelope: CompleteEnvelope,
    isFindable = false,
  ): Fallible<SideError, SideEnd & { readonly first: string | undefined }> {
    const { isNamed, commandId: own } = envelope
    const findable = isFindable && isNamed
    const events: StoredEvent[] = []
    let { hash } = after
    for (const fact of facts) {
      const commandId = isNamed || events.length === 0 ? own : newCommandId()
      const id = findable ? eventId(stream, commandId, events.length) : isNamed ? newCommandId() : commandId
      const stored = yield* unwrap(
        encode(fact, id, { ...metadataOf({ ...envelope, commandId }), prev: hash }),
      )
      events.push(stored)
      if (isChained) hash = hashOf(stored)
    }
    yield* unwrap(
      store.append({ stream, events, expected: after.revision, repeat: findable ? 'first' : 'none' }),
    )
    return { revision: after.revision + events.length, hash, first: events[0]?.id }
  }

  const record = <Failure extends { readonly _tag: string }>(
    factNow: () => E.Either<Failure, Fact> | Promise<E.Either<Failure, Fact>>,
    envelope: CompleteEnvelope,
  ): Fallible<SideError | Failure, Recorded> =>
    despiteConflicts(async function* (): Fallible<SideError | Failure, Recorded> {
      const [given, looked] = await Promise.all([factNow(), run(end())])
      const fact = yield* unwrap(given)
      const after = yield* unwrap(looked)
      // Looked up after the end has been read: if another writer records the event from here on, the append conflicts.
      const before = envelope.isNamed ? yield* find(envelope.commandId) : undefined
      if (before) return before
      const { revision } = yield* write([fact], after, envelope, true)
      // Read back, because another writer may have recorded the same command with a different time.
      return yield* at(revision)
    })

  async function* since(revision: number, to = Infinity): Fallible<StoreError, readonly Recorded[]> {
    const facts: Recorded[] = []
    for await (const page of pagesOf(store, stream, { from: revision + 1, to }))
      for (const event of yield* unwrap(page)) facts.push(yield* unwrap(decode(event, event)))
    return facts
  }

  async function* newest(type?: string): AsyncGenerator<Recorded, void> {
    const { last } = await orThrow(run(readStreamEnd(store, stream)))
    for await (const read of backwards(store, stream, { from: last?.revision ?? -1, limit: streamPage })) {
      const event = await orThrow(read)
      if (type === undefined || event.type === type) yield await orThrow(decode(event, event))
    }
  }

  return { end, append: write, record, find, since, newest }
}
