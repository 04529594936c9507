import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import { type Actor, START } from '../../events/events.ts'
import { streamOf, turnsStreamOf } from '../../events/ids.ts'
import { type RecordedTurnFact, turnCodec, type TurnFact } from '../../events/turn-events.ts'
import { unwrap, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { conflict, type ReadError, type StoreError } from '../../store/errors.ts'
import { backwards, pagesOf } from '../../store/pages.ts'
import { type EventStore, type RecordedEvent, streamPage } from '../../store/port.ts'
import { loadLineage } from '../reading/lineage.ts'
import { completeEnvelope, type CommandEnvelope } from '../writing/encode.ts'
import { type SideEnd, sideStream } from './side-stream.ts'

/** The end of the stream that records a conversation's turns. */
export interface TurnsEnd {
  /** The last revision; -1 for an empty stream. */
  readonly revision: number
  /** Id of the stream's first event; undefined for an empty stream. */
  readonly begun: string | undefined
}

/** The log of a conversation's turns, in a separate stream. */
export interface TurnLog {
  readonly conversation: string
  /**
   * Returns the turn logs of the conversations that this one was forked from, starting with its parent and ending with the one that
   * contains the event at `position`.
   */
  readonly above: (position: number) => Fallible<ReadError, readonly TurnLog[]>
  /** Returns the end of the log as this handle last saw it. If the handle has not seen the end, reads it. */
  readonly end: () => Fallible<StoreError, TurnsEnd>
  /** Reads the current end of the log. */
  readonly now: () => Fallible<StoreError, Pick<TurnsEnd, 'revision'>>
  /** Reports whether the event at this revision is the last one known to this handle. */
  readonly isAt: (revision: number) => boolean
  /** Returns the last revision that this handle has read or written. If it has done neither, reads the end of the log. */
  readonly seen: () => Fallible<StoreError, number>
  /** Reads the events currently recorded after a revision, in order. */
  readonly after: (revision: number) => Fallible<StoreError, readonly RecordedTurnFact[]>
  /** Yields the events currently recorded, newest first; `at` never increases. Throws a `StoreError` during iteration. */
  readonly newest: (page?: number) => AsyncGenerator<RecordedTurnFact, void>
  /**
   * Yields, in order, the events that were recorded when the conversation's last position was at or after the given one. With `follow`, continues with new events
   * until the signal aborts or the store closes. Throws a `StoreError` during iteration.
   */
  readonly since: (
    position: number,
    follow: boolean,
    signal?: AbortSignal,
  ) => AsyncGenerator<RecordedTurnFact, void>
  /**
   * Yields, in order, the events that were recorded while the conversation's last position was between two positions, both inclusive.
   * Finds the first one without reading the others. Throws a `StoreError` during iteration.
   */
  readonly between: (first: number, last: number) => AsyncGenerator<RecordedTurnFact, void>
  /**
   * Appends events directly after a revision returned by `end`. Fails with `Conflict`, and writes nothing, if another writer has
   * appended since. Raises an event's `at` if it is lower than the `at` of the event before it. `begun` of the result may be undefined
   * if this handle has not read the first event.
   */
  readonly append: (
    facts: readonly TurnFact[],
    after: number,
    envelope?: CommandEnvelope,
  ) => Fallible<StoreError | InvalidInput | EventTooLarge, TurnsEnd>
}

interface Known extends SideEnd {
  /**
   * Id of the stream's first event; undefined if the stream is empty or the id has not been read yet. Only replies that call tools need
   * it.
   */
  readonly begun: string | undefined
  /** The highest position of the conversation at which an event was recorded. */
  readonly at: number
}
const empty: Known = { revision: -1, begun: undefined, hash: null, at: START }

export const turnLog = (store: EventStore, actor: Actor, conversation: string): TurnLog => {
  const stream = turnsStreamOf(conversation)
  const side = sideStream<TurnFact, RecordedTurnFact>(store, { stream, of: conversation }, turnCodec)
  let known: Known | undefined
  /** Last revision up to which a caller has read events in order to act on them; -1 if no caller has. */
  let heeded = -1

  const read = (from: number, direction: 'forwards' | 'backwards', limit: number) =>
    unwrap(store.read({ stream, from, direction, limit }))

  /** Returns the end of the stream, given its last event. */
  const see = (last: RecordedEvent, { data }: RecordedTurnFact): Known => {
    const { revision, id } = last
    if (revision === known?.revision) return known
    return {
      revision,
      begun: known?.begun ?? (revision === 0 ? id : undefined),
      hash: hashOf(last),
      at: data.at,
    }
  }
  async function* look(): Fallible<StoreError, Known> {
    const [last] = yield* read(Number.MAX_SAFE_INTEGER, 'backwards', 1)
    known = last ? see(last, yield* unwrap(turnCodec.decode(last, last))) : empty
    return known
  }

  async function* newest(limit = streamPage): AsyncGenerator<RecordedTurnFact, void> {
    let isFirst = true
    for await (const recorded of backwards(store, stream, { limit })) {
      const event = await orThrow(recorded)
      const fact = await orThrow(turnCodec.decode(event, event))
      if (isFirst) known = see(event, fact)
      isFirst = false
      yield fact
    }
    if (isFirst) known = empty
  }

  async function* factsAfter(revision: number): Fallible<StoreError, readonly RecordedTurnFact[]> {
    const facts = yield* side.since(revision)
    heeded = Math.max(heeded, facts.at(-1)?.revision ?? revision)
    return facts
  }

  async function* since(
    position: number,
    follow: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<RecordedTurnFact, void> {
    const end = { from: Number.MAX_SAFE_INTEGER, direction: 'backwards', limit: 1 } as const
    // Read before the facts, so that facts recorded meanwhile come after its checkpoint.
    const [last] = await orThrow(store.read({ ...end, stream: streamOf(conversation) }))
    const facts: RecordedTurnFact[] = []
    for await (const fact of newest()) {
      if (fact.data.at < position) break
      facts.push(fact)
    }
    let revision = facts[0]?.revision ?? -1
    for (const fact of facts.toReversed()) {
      if (signal?.aborted) return
      yield fact
    }
    if (!follow || signal?.aborted) return
    const after = last && { after: last.checkpoint }
    for await (const followed of store.follow({ prefixes: [stream], ...after, ...(signal && { signal }) })) {
      if (followed.type !== 'event' || followed.event.stream !== stream) continue
      const fact = await orThrow(turnCodec.decode(followed.event, followed.event))
      if (fact.revision > revision) yield fact
      revision = Math.max(revision, fact.revision)
    }
  }

  async function* factAt(revision: number): Fallible<StoreError, RecordedTurnFact | undefined> {
    const [event] = yield* read(revision, 'forwards', 1)
    return event && (yield* unwrap(turnCodec.decode(event, event)))
  }

  async function* between(first: number, last: number): AsyncGenerator<RecordedTurnFact, void> {
    let low = 0
    for (let high = (await orThrow(run(look()))).revision + 1; low < high;) {
      const middle = (low + high) >> 1
      const fact = await orThrow(run(factAt(middle)))
      if (fact && fact.data.at < first) low = middle + 1
      else high = middle
    }
    for await (const page of pagesOf(store, stream, { from: low }))
      for (const event of await orThrow(page)) {
        const fact = await orThrow(turnCodec.decode(event, event))
        if (fact.data.at > last) return
        yield fact
      }
  }

  async function* append(
    facts: readonly TurnFact[],
    after: number,
    envelope: CommandEnvelope = {},
  ): Fallible<StoreError | InvalidInput | EventTooLarge, TurnsEnd> {
    const before = known?.revision === after ? known : after < 0 ? empty : yield* look()
    if (before.revision !== after) return yield conflict(stream, after, before.revision)
    let { at } = before
    const placed = facts.map(({ type, data }): TurnFact => {
      // `at` must never decrease, because backward readers stop at the first fact recorded before a position.
      at = Math.max(at, data.at)
      return { type, data: { ...data, at } } as TurnFact
    })
    const written = await run(side.append(placed, before, completeEnvelope(envelope, actor)))
    if (E.isLeft(written)) known = undefined
    const { first, ...end } = yield* unwrap(written)
    known = { ...end, begun: after < 0 ? first : before.begun, at }
    return known
  }

  return {
    conversation,
    above: async function* (position): Fallible<ReadError, readonly TurnLog[]> {
      const lineage = (yield* unwrap(loadLineage(store, conversation))) ?? []
      const below = lineage.findIndex(({ offset }) => offset <= position)
      return lineage.slice(1, below + 1).map((stretch) => turnLog(store, actor, stretch.conversation))
    },
    end: async function* (): Fallible<StoreError, TurnsEnd> {
      const last = known ?? (yield* look())
      if (last.begun !== undefined || last.revision < 0) return last
      const [first] = yield* read(0, 'forwards', 1)
      known = { ...last, begun: first?.id }
      return known
    },
    now: look,
    isAt: (revision) => known?.revision === revision,
    seen: async function* (): Fallible<StoreError, number> {
      return Math.max(heeded, (known ?? (yield* look())).revision)
    },
    after: factsAfter,
    newest,
    since,
    between,
    append,
  }
}
