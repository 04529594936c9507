import type * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../../events/codec.ts'
import type { DecodeFailed, EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Metadata } from '../../events/events.ts'
import { eventId, newCommandId } from '../../events/ids.ts'
import { ok, orThrow, run, type Steps } from '../../result/steps.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import { eventMissing } from '../../store/dense.ts'
import { importUnfinished, type StoreError } from '../../store/errors.ts'
import { backwards, pagesOf } from '../../store/pages.ts'
import { type EventStore, type RecordedEvent, streamPage } from '../../store/port.ts'
import { readStreamEnd } from '../../store/whole/whole-writes.ts'
import { type CompleteEnvelope, metadataOf } from '../writing/encode.ts'

/** The name of a side stream, and the conversation or the worker that it is of. */
interface SideName {
  readonly stream: string
  readonly of: string
  /** True if each fact names the hash of the one before. Default true. */
  readonly isChained?: boolean
}

/** The part of a `Codec` that says what it reads and writes. */
interface FactCodec<Fact, Recorded> {
  readonly encode: (fact: Fact, id: string, metadata: Omit<Metadata, 'schema'>) => Encoded
  readonly decode: (stored: RecordedEvent, place: RecordedEvent) => E.Either<DecodeFailed, Recorded>
}
type Encoded = E.Either<InvalidInput | EventTooLarge, StoredEvent>
type SideError = StoreError | InvalidInput | EventTooLarge

/** End of a stream, to which its next fact is chained; revision -1 for an empty one. */
export interface SideEnd {
  readonly revision: number
  readonly hash: string | null
}

/** Facts of one kind beside a conversation or a worker. */
export interface SideStream<Fact, Recorded> {
  /** Reads where the stream ends, to write there. `ImportUnfinished` where events come after it that do not count yet. */
  readonly end: () => Steps<StoreError, SideEnd>
  /**
   * Appends facts right after an end; `Conflict` if somebody else wrote since: then nothing was written.
   *
   * @param isFindable the ids derive from the command's, if it has a name: a repeat is found by them
   * @returns the end after them, and the id of the first
   */
  readonly append: (
    facts: readonly Fact[],
    after: SideEnd,
    envelope: CompleteEnvelope,
    isFindable?: boolean,
  ) => Steps<SideError, SideEnd & { readonly first: string | undefined }>
  /**
   * Appends a fact wherever the stream ends, and returns it as it is stored. A repeat under the same `commandId` writes nothing, and
   * returns the fact of the first time.
   *
   * @param factNow makes the fact, for each try
   */
  readonly record: <Failure extends { readonly _tag: string }>(
    factNow: () => E.Either<Failure, Fact> | Promise<E.Either<Failure, Fact>>,
    envelope: CompleteEnvelope,
  ) => Steps<SideError | Failure, Recorded>
  /** Finds what was recorded under a command id. */
  readonly find: (commandId: string) => Steps<StoreError, Recorded | undefined>
  /** Reads the facts after a revision, in order. */
  readonly since: (revision: number) => Steps<StoreError, readonly Recorded[]>
  /** Reads the facts that count, the newest first; of one type if one is named. Throws a `StoreError`. */
  readonly newest: (type?: string) => AsyncGenerator<Recorded, void>
}

/** Writes and reads facts of one kind. All that is written beside a conversation is written here; the rule of the chain is in `write`. */
export const sideStream = <Fact, Recorded>(
  store: EventStore,
  { stream, of, isChained = true }: SideName,
  { encode, decode }: FactCodec<Fact, Recorded>,
): SideStream<Fact, Recorded> => {
  async function* at(revision: number): Steps<StoreError, Recorded> {
    const [event] = yield* ok(store.read({ stream, from: revision, direction: 'forwards', limit: 1 }))
    return event ? yield* ok(decode(event, event)) : yield eventMissing(stream, revision)
  }

  async function* find(commandId: string): Steps<StoreError, Recorded | undefined> {
    const { revision } = yield* ok(store.find(stream, eventId(stream, commandId, 0)))
    return revision === undefined ? undefined : yield* at(revision)
  }

  async function* end(): Steps<StoreError, SideEnd> {
    const { last, unfinished } = yield* readStreamEnd(store, stream)
    if (unfinished) return yield importUnfinished(of)
    return { revision: last?.revision ?? -1, hash: last && isChained ? hashOf(last) : null }
  }

  async function* write(
    facts: readonly Fact[],
    after: SideEnd,
    envelope: CompleteEnvelope,
    isFindable = false,
  ): Steps<SideError, SideEnd & { readonly first: string | undefined }> {
    const { isNamed, commandId: own } = envelope
    const findable = isFindable && isNamed
    const events: StoredEvent[] = []
    let { hash } = after
    for (const fact of facts) {
      const commandId = isNamed || events.length === 0 ? own : newCommandId()
      const id = findable ? eventId(stream, commandId, events.length) : isNamed ? newCommandId() : commandId
      const stored = yield* ok(encode(fact, id, { ...metadataOf({ ...envelope, commandId }), prev: hash }))
      events.push(stored)
      if (isChained) hash = hashOf(stored)
    }
    yield* ok(store.append({ stream, events, expected: after.revision, repeat: findable ? 'first' : 'none' }))
    return { revision: after.revision + events.length, hash, first: events[0]?.id }
  }

  const record = <Failure extends { readonly _tag: string }>(
    factNow: () => E.Either<Failure, Fact> | Promise<E.Either<Failure, Fact>>,
    envelope: CompleteEnvelope,
  ): Steps<SideError | Failure, Recorded> =>
    despiteConflicts(async function* (): Steps<SideError | Failure, Recorded> {
      const [given, looked] = await Promise.all([factNow(), run(end())])
      const fact = yield* ok(given)
      const after = yield* ok(looked)
      // After the end was read: if somebody writes it from here on, this is a conflict.
      const before = envelope.isNamed ? yield* find(envelope.commandId) : undefined
      if (before) return before
      const { revision } = yield* write([fact], after, envelope, true)
      // Read, and not taken for what was sent: a repeat of somebody else may have another time.
      return yield* at(revision)
    })

  async function* since(revision: number): Steps<StoreError, readonly Recorded[]> {
    const facts: Recorded[] = []
    for await (const page of pagesOf(store, stream, { from: revision + 1 }))
      for (const event of yield* ok(page)) facts.push(yield* ok(decode(event, event)))
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
