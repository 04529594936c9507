import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../../events/codec.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { unwrap, orThrow, run, type Fallible, task } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { checkAppend } from '../check-append.ts'
import { noCheckpoint } from '../checkpoints.ts'
import { historyLost, outcomeUnknown, type StoreError, storeClosed } from '../errors.ts'
import type {
  AllPage,
  AllRange,
  AppendRequest,
  AppendOutcome,
  EventStore,
  FollowItem,
  FollowOptions,
  RecordedEvent,
} from '../port.ts'
import { absent } from './absent.ts'
import { appender } from './appender.ts'
import { blobs } from './blobs.ts'
import { changes } from './changes.ts'
import { connect, type Connection } from './connection.ts'
import { blobStreams, conversations, directory } from './directory.ts'
import { unavailable } from './failures.ts'
import { follow } from './follow.ts'
import { losses } from './losses.ts'
import {
  checkpointOf,
  isOfServer,
  type LogPosition,
  placeOf,
  recordedEventOf,
  type ServerEvent,
} from './responses.ts'
import { type Reads, reads } from './reads.ts'
import { recentIds } from './recent.ts'
import { esdbSettings } from './settings.ts'
import { stampEvents } from './stamp.ts'

/**
 * Maximum number of bytes by which a valid checkpoint may lie past the last event: one chunk of the server's log. The log also contains
 * records other than events.
 */
const slack = 256n * 1024n * 1024n

/**
 * Opens an EventStoreDB node (`esdb://user:password@host:2113?tls=true`) or cluster (`esdb+discover://…`) as a store. Fails if the
 * server does not answer.
 */
export const openEventStoreDb = (url: string): TaskEither<StoreError | InvalidInput, EventStore> =>
  task(async function* (): Fallible<StoreError | InvalidInput, EventStore> {
    const connection = yield* unwrap(connect(yield* unwrap(esdbSettings(url))))
    const reading = reads(connection)
    // Not one of the server's own streams, which only administrators may read.
    const range = { stream: 'palimpsest', from: 0, direction: 'forwards', limit: 1 } as const
    const answered = await run(reading.whatIsThere(range))
    if (E.isRight(answered)) return storeOn(connection, reading)
    await connection.close()
    return yield answered.left
  })

const storeOn = (connection: Connection, reading: Reads): EventStore => {
  const { url, maxAppendBytes } = connection.settings
  const appending = appender(connection)
  const underWay = new Set<Promise<unknown>>()
  const find = recentIds(reading)
  const lost = losses(reading)
  const missing = absent()
  const listed = directory(reading, appending, conversations)
  const look = changes(reading)
  let names: readonly string[] = []

  const whenOpen =
    <Err, A>(steps: () => Fallible<Err, A>): TaskEither<StoreError | Err, A> =>
    async () =>
      connection.closing.aborted ? E.left(storeClosed(url)) : run(steps())

  async function* append(request: AppendRequest): Fallible<StoreError, AppendOutcome> {
    const { stream, events, expected, repeat } = request
    const ready = await run<StoreError, void>(expected < 0 ? begin(stream) : lost.check(stream))
    if (E.isLeft(ready)) return yield unwritten(ready.left)
    const sent = stampEvents(events, repeat !== 'none' && repeat !== 'silent')
    const appended = await run(appending({ stream, events: sent, expected }))
    // Before reporting a conflict, the server checks whether it already has these events, including those of an unanswered attempt.
    if (E.isLeft(appended)) return yield appended.left
    // The server continues the revisions of a deleted stream.
    if (appended.right.revision !== expected + events.length)
      return yield historyLost(stream, 'it was deleted')
    if (repeat === 'none') return 'written'
    if (repeat === 'silent') return 'taken'
    // The server also reports success for events that it already has, without any indication of that.
    const last = sent.at(-1)
    const from = expected + events.length
    const there = await run(reading.range({ stream, from, direction: 'forwards', limit: 1 }))
    if (E.isLeft(there)) return yield outcomeUnknown(stream, idsOf(events), there.left)
    const [found] = there.right
    return found && last && found.id === last.id && isSame(found, last) ? 'written' : 'repeated'
  }

  /**
   * Adds a stream to the list of streams, unless the stream already exists. An entry written after the stream's first event would make
   * the stream appear newer than it is, and newer than its notes. Usually the writer has just found the stream missing; the stream is
   * then not read again.
   */
  async function* begin(stream: string): Fallible<StoreError, void> {
    const range = { stream, from: 0, direction: 'forwards', limit: 1 } as const
    const isThere = !missing.has(stream) && (yield* reading.whatIsThere(range)).length > 0
    if (!isThere) yield* listed.begin(stream)
  }

  /** Converts an unknown outcome of listing a stream to a definite error, because nothing has been sent to the stream itself. */
  const unwritten = (error: StoreError): StoreError => {
    if (error._tag !== 'OutcomeUnknown') return error
    return connection.closing.aborted ? storeClosed(url) : unavailable(url, 'no answer', error.cause)
  }

  const placed = (after: unknown): E.Either<InvalidInput, LogPosition | undefined> => {
    const place = typeof after === 'string' ? placeOf(after) : undefined
    return after === undefined || place ? E.right(place) : E.left(noCheckpoint(url, after))
  }

  /**
   * Reports whether a log position is certainly after all events, because it comes from another server or because the server has lost
   * events since.
   */
  const isBeyond = async (place: LogPosition | undefined): Promise<boolean> => {
    if (!place) return false
    const end = await run(reading.end())
    return E.isRight(end) && BigInt(place.commit) > BigInt(end.right?.commit ?? 0) + slack
  }

  async function* readAll({
    prefixes = [''],
    after,
    limit,
  }: AllRange): Fallible<StoreError | InvalidInput, AllPage> {
    const place = yield* unwrap(placed(after))
    const events = yield* reading.all({ on: 'stream', prefixes }, place, limit)
    if (events.length === 0 && (await isBeyond(place))) return yield noCheckpoint(url, after)
    const last = events.at(-1)
    const own = events.filter((event) => !isOfServer(event))
    const isEnd = events.length < limit
    return { events: own.map(recordedEventOf), checkpoint: last ? checkpointOf(last.place) : after, isEnd }
  }

  async function* followed(options: FollowOptions): AsyncGenerator<FollowItem, void> {
    const after = await orThrow(placed(options.after))
    if (await isBeyond(after)) throw toError(noCheckpoint(url, options.after))
    yield* follow(connection, after, options)
  }

  /** Lists stream names. Requesting the first page reads the list of all names again. */
  async function* streams(
    prefix: string,
    after: string,
    limit: number,
  ): Fallible<StoreError, readonly string[]> {
    if (after === '') names = (yield* listed.all()).toSorted()
    return names.filter((name) => name.startsWith(prefix) && name > after).slice(0, limit)
  }

  return {
    url,
    append: (request) => async () => {
      if (connection.closing.aborted) return E.left(storeClosed(url))
      const checked = checkAppend(request)
      if (E.isLeft(checked)) return checked
      // `close` waits for this append.
      const appended = run(append(checked.right))
      underWay.add(appended)
      return appended.finally(() => underWay.delete(appended))
    },
    read: (range) =>
      whenOpen(async function* (): Fallible<StoreError, readonly RecordedEvent[]> {
        const read = await run(reading.range(range))
        if (E.isRight(read)) missing.seen(range, read.right)
        if (E.isRight(read) || read.left._tag === 'HistoryLost') lost.seen(range.stream, E.isLeft(read))
        return (yield* unwrap(Promise.resolve(read))).map(recordedEventOf)
      }),
    find: (stream, id) => whenOpen(() => find(stream, id)),
    // The database neither counts events nor records the ends of streams.
    count: () => whenOpen(() => unwrap(E.right(undefined))),
    keptEnd: () => whenOpen(() => unwrap(E.right(undefined))),
    streams: (prefix, after, limit) => whenOpen(() => streams(prefix, after, limit)),
    newest: (prefixes, before, limit) => whenOpen(() => listed.newest(prefixes, before, limit)),
    neverBegun: (of) => whenOpen(() => listed.neverBegun(of)),
    changed: (prefix, since) => whenOpen(() => look(prefix, since)),
    readAll: (range) => whenOpen(() => readAll(range)),
    follow: followed,
    blobs: blobs(connection, reading, appending, directory(reading, appending, blobStreams)),
    maxAppendBytes,
    close: () => async () => {
      await connection.close(underWay)
      return E.right(undefined)
    },
  }
}

const isSame = ({ data, metadata }: ServerEvent, event: StoredEvent): boolean =>
  Buffer.from(event.data).equals(data) && Buffer.from(event.metadata).equals(metadata)

const idsOf = (events: readonly StoredEvent[]): readonly string[] => events.map(({ id }) => id)
