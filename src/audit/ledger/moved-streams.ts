import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { streamOf, turnsStreamOf } from '../../events/ids.ts'
import { unwrap, orThrow, run, type Fallible } from '../../result/fallible.ts'
import type { TypedError } from '../../result/typed-error.ts'
import { isLoss, type StoreError } from '../../store/errors.ts'
import { nameOf } from './entries.ts'
import { namePages } from '../../store/pages.ts'
import {
  type Checkpoint as StorePlace,
  type EventStore,
  maxPage,
  type RecordedEvent,
} from '../../store/port.ts'
import { streamEndFrom } from '../../store/whole/whole-writes.ts'

/** Streams that may have been written to. */
export interface ChangedStreams {
  /** Place in the store up to which changes were read. */
  readonly place: StorePlace | undefined
  /** Names of the streams. Iterating over them may throw a `StoreError`. */
  readonly streams: AsyncIterable<string> | Iterable<string>
}

/** Prefixes of the streams that are sealed: conversations, and the events recorded by their turns. */
const prefixes = [streamOf(''), turnsStreamOf('')]

/**
 * Runs `work` from a place named by the ledger, or from the beginning if the event at that place is gone. The removal of an event must
 * not stop the sealing of all others.
 */
export async function* fromPlace<Failure extends TypedError, Value>(
  place: StorePlace | undefined,
  work: (place: StorePlace | undefined) => Fallible<Failure | InvalidInput, Value>,
): Fallible<Failure | InvalidInput, Value> {
  const done = await run(work(place))
  if (E.isRight(done)) return done.right
  if (place === undefined || !isInvalidPlace(done.left)) return yield done.left
  return yield* work(undefined)
}

const isInvalidPlace = (error: TypedError): boolean =>
  error._tag === 'InvalidInput' && 'path' in error && error.path === 'after'

/** Lists the streams written to since a place; without a place, all streams. */
export async function* streamsMovedSince(
  store: EventStore,
  since: StorePlace | undefined,
): Fallible<StoreError | InvalidInput, ChangedStreams> {
  const { place, streams } = yield* streamsChangedSince(store, since)
  if (streams) return { place, streams }
  if (since === undefined && place !== undefined) return { place, streams: listStreams(store) }
  return yield* read(store, since)
}

/** Lists the streams written to since a place. Omits `streams` if the store cannot name them or too much was written. */
export async function* streamsChangedSince(
  store: EventStore,
  since: StorePlace | undefined,
): Fallible<StoreError, { readonly place: StorePlace | undefined; readonly streams?: readonly string[] }> {
  let place: StorePlace | undefined
  const all: string[] = []
  for (const [index, prefix] of prefixes.entries()) {
    const { checkpoint, streams } = yield* unwrap(store.changed(prefix, since))
    // Events written between the two calls are listed again next time, because the place of the first call is used.
    if (index === 0) place = checkpoint
    if (!streams) return { place }
    for (const name of streams) if (name.startsWith(prefix)) all.push(name)
  }
  return { place, streams: all }
}

/** Stream heads found by reading events up to a place in the store. */
export interface ChangedHeads {
  readonly place: StorePlace | undefined
  readonly heads: readonly ChainHead[]
}

/** Maximum number of heads in memory at a time. */
const mostHeads = 100_000
/** Number of events that can be read in sequence in the time that it takes to look up the end of one stream. */
const worth = 6
const few = 10_000

/**
 * Yields the heads of the streams written to since a place, by reading their events in order. For many short conversations this is
 * several times as fast as looking up the end of each stream. Throws a `StoreError` during iteration.
 *
 * @returns true if all heads were yielded; false if no heads were yielded, because the streams are long or an event cannot be read
 */
export async function* headsByEvents(
  store: EventStore,
  since: StorePlace | undefined,
): AsyncGenerator<ChangedHeads, boolean> {
  let heads = new Map<string, ChainHead>()
  let place = since
  let passed = 0
  let isGiven = false
  for (;;) {
    const page = await store.readAll({ prefixes, after: place, limit: maxPage })()
    if (E.isLeft(page) && !isGiven && since === undefined) return false
    const { events, checkpoint, isEnd } = await orThrow(page)
    for (const event of events) heads.set(event.stream, headIn(event))
    passed += events.length
    const isOver = isEnd === true || checkpoint === place
    place = checkpoint
    if (since === undefined && !isGiven && passed > worth * heads.size + few) return false
    if (isOver || heads.size >= mostHeads) {
      yield { place, heads: [...heads.values()] }
      isGiven = true
      heads = new Map()
    }
    if (isOver) return true
  }
}

const headIn = (event: RecordedEvent): ChainHead => {
  const { stream, revision } = event
  return { name: nameOf(stream), revision, head: hashOf(event), isUnfinished: false }
}

export async function* listStreams(store: EventStore): AsyncGenerator<string, void> {
  for (const prefix of prefixes)
    for await (const names of namePages((last) => store.streams(prefix, last ?? '', maxPage)))
      yield* await orThrow(names)
}

/** Lists the changed streams by reading events. Used if the store cannot name the changed streams or too much was written. */
async function* read(
  store: EventStore,
  since: StorePlace | undefined,
): Fallible<StoreError | InvalidInput, ChangedStreams> {
  const streams = new Set<string>()
  for (let place = since; ;) {
    const page = yield* unwrap(store.readAll({ prefixes, after: place, limit: maxPage }))
    for (const { stream } of page.events) streams.add(stream)
    const isEnd = page.isEnd === true || page.checkpoint === place
    place = page.checkpoint
    if (isEnd) return { place, streams }
  }
}

/** Head of a stream: its last revision and the hash of its last event. */
export interface ChainHead {
  /** Name of the stream, as returned by `nameOf`. */
  readonly name: string
  readonly revision: number
  readonly head: string
  /** True if events of an incomplete write follow the head. */
  readonly isUnfinished: boolean
}

/** Returns the head of a stream. Returns undefined if the stream is empty, or an error message if its end cannot be read. */
export async function* headOf(
  store: EventStore,
  stream: string,
): Fallible<StoreError, ChainHead | string | undefined> {
  const from = Number.MAX_SAFE_INTEGER
  const page = await store.read({ stream, from, direction: 'backwards', limit: 1 })()
  if (E.isLeft(page)) return isLoss(page.left) ? page.left.message : yield page.left
  const [newest] = page.right
  const end = newest?.part ? yield* unwrap(run(streamEndFrom(store, newest))) : { last: newest }
  const isUnfinished = 'unfinished' in end
  if (!end.last)
    return isUnfinished ? { name: nameOf(stream), revision: -1, head: '', isUnfinished } : undefined
  return { ...headIn(end.last), isUnfinished }
}
