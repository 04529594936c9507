import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../events/codec.ts'
import { type ConversationEvent, type Metadata, START } from '../events/events.ts'
import { archiveStreamOf, inboxStreamOf, notesStreamOf, streamOf, turnsStreamOf } from '../events/ids.ts'
import { inboxCodec } from '../events/inbox-events.ts'
import { type RecordedTurnFact, turnCodec } from '../events/turn-events.ts'
import { isFinal } from '../projections/final.ts'
import { unwrap, type Fallible } from '../result/fallible.ts'
import type { StoreError } from '../store/errors.ts'
import { type EventStore, type RecordedEvent, streamPage } from '../store/port.ts'
import { readStreamEnd } from '../store/whole/whole-writes.ts'

// Workers depend on the order in which the events of a conversation and of its side streams were recorded. A copy keeps this order from
// the last final reply on; workers no longer need the order of older events.

/** A stream up to and including a revision. */
export interface CopySegment {
  readonly stream: string
  readonly last: number
}

/** A conversation's own stream, up to and including the last revision to copy. */
interface Own {
  readonly id: string
  /** Position of the stream's first event, revision 0. */
  readonly offset: number
  readonly last: number
}

interface Found {
  /** Segments to copy, in this order. A later segment of a stream continues an earlier one. */
  readonly stretches: readonly CopySegment[]
  /** The program or worker that is running a turn of the conversation, according to the log. */
  readonly holder?: string | undefined
  /** Highest position of the conversation that its side streams mention. */
  readonly ahead: number
}

/** An event of a side stream, with the conversation's last position as its writer knew it. */
interface Fact {
  readonly revision: number
  readonly metadata: Metadata
  readonly data: { readonly at: number }
}

async function* newestFirst(
  store: EventStore,
  { stream, last }: CopySegment,
): AsyncGenerator<E.Either<StoreError, RecordedEvent>, void> {
  for (let from = last; from >= 0;) {
    const page = await store.read({ stream, from, direction: 'backwards', limit: streamPage })()
    if (E.isLeft(page)) return yield page
    for (const event of page.right) yield E.right(event)
    from = (page.right.at(-1)?.revision ?? 0) - 1
  }
}

/** Reports whether an event begins or ends a step of a worker. */
const isTurningPoint = (event: ConversationEvent): boolean =>
  event.type === 'Rewound' ||
  event.type === 'Forked' ||
  (event.type === 'MessageAppended' && (event.data.role === 'user' || isFinal(event)))

/**
 * Reports whether an event of a side stream was recorded before an event of the conversation: its time is earlier, and its writer did
 * not know the conversation's event yet.
 */
const isBefore = ({ metadata, data }: Fact, point: ConversationEvent): boolean =>
  data.at < point.position && Date.parse(metadata.time) < Date.parse(point.metadata.time)

/** Returns a reader that goes backwards through a side stream. */
const reader = <A extends Fact>(
  store: EventStore,
  whole: CopySegment,
  decodeFact: (event: RecordedEvent) => E.Either<unknown, A>,
  seen: (fact: A) => void = () => {},
) => {
  const events = newestFirst(store, whole)
  let fact: A | undefined
  let hasBegun = false
  async function* next(): Fallible<StoreError, void> {
    const { value } = await events.next()
    const decoded = value && decodeFact(yield* unwrap(value))
    // The verification of the copy reports any problem with the event.
    fact = decoded && E.isRight(decoded) ? decoded.right : undefined
    if (fact) seen(fact)
    hasBegun = true
  }
  return {
    whole,
    /** Goes back to the newest event that passes the test. Returns its revision, or -1 if no event passes. */
    to: async function* (isIt: (fact: A) => boolean): Fallible<StoreError, number> {
      if (!hasBegun) yield* next()
      while (fact && !isIt(fact)) yield* next()
      return fact?.revision ?? -1
    },
  }
}

const isAboutClaims = ({ type }: RecordedTurnFact): boolean =>
  type === 'TurnClaimed' || type === 'TurnReleased' || type === 'TurnParked'

/** Finds all stream segments that belong to a conversation, and the order in which to copy them. */
export async function* orderOf(store: EventStore, { id, offset, last }: Own): Fallible<StoreError, Found> {
  const endOf = async function* (stream: string): Fallible<StoreError, CopySegment> {
    return { stream, last: (yield* readStreamEnd(store, stream)).last?.revision ?? -1 }
  }
  const own = { stream: streamOf(id), last }
  let newest: RecordedTurnFact | undefined
  let ahead = START
  const turns = reader(
    store,
    yield* endOf(turnsStreamOf(id)),
    (event) => turnCodec.decode(event, event),
    (fact) => {
      ahead = Math.max(ahead, fact.data.at)
      if (isAboutClaims(fact)) newest ??= fact
    },
  )
  const inbox = reader(
    store,
    yield* endOf(inboxStreamOf(id)),
    (event) => inboxCodec.decode(event, event),
    (fact) => {
      ahead = Math.max(ahead, fact.data.at)
    },
  )
  const notes = yield* endOf(notesStreamOf(id))
  const archive = yield* endOf(archiveStreamOf(id))
  // Newest first. Readers assume that notes begin after their conversation.
  const stretches: CopySegment[] = [inbox.whole, turns.whole, archive, notes, own]
  let final: ConversationEvent | undefined
  let rest = Math.max(turns.whole.last, inbox.whole.last)
  for await (const read of newestFirst(store, rest < 0 ? { ...own, last: -1 } : own)) {
    const event = yield* unwrap(read)
    const { revision } = event
    const decoded = decode(event, { stream: own.stream, revision, position: offset + revision })
    if (E.isLeft(decoded)) break
    const point = decoded.right
    if (!isTurningPoint(point)) continue
    const before = (fact: Fact): boolean => isBefore(fact, point)
    const ends = [
      { stream: inbox.whole.stream, last: yield* inbox.to(before) },
      { stream: turns.whole.stream, last: yield* turns.to(before) },
    ]
    rest = Math.max(...ends.map((end) => end.last))
    if (isFinal(point)) final = point
    stretches.push(...ends, { stream: own.stream, last: revision - 1 })
    if (final || rest < 0) break
  }
  if (!final) yield* turns.to(isAboutClaims)
  const isOver = final !== undefined && (newest?.data.at ?? START) < final.position
  return {
    stretches: needed(stretches.toReversed()),
    holder: newest?.type === 'TurnClaimed' && !isOver ? newest.data.worker : undefined,
    ahead,
  }
}

/** Returns the segments in copying order, without those that earlier segments already contain. */
const needed = (stretches: readonly CopySegment[]): readonly CopySegment[] => {
  const reached = new Map<string, number>()
  const all: CopySegment[] = []
  for (const stretch of stretches) {
    if (stretch.last <= (reached.get(stretch.stream) ?? -1)) continue
    reached.set(stretch.stream, stretch.last)
    if (all.at(-1)?.stream === stretch.stream) all.pop()
    all.push(stretch)
  }
  return all
}
