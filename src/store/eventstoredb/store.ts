import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../../events/codec.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { checkedAppend } from '../checked-append.ts'
import { noCheckpoint } from '../checkpoints.ts'
import { type Conflict, type StoreError, outcomeUnknown, storeClosed, toError } from '../errors.ts'
import type { AllPage, Append, Appended, AllRange, EventStore, Followed, FollowOptions } from '../port.ts'
import { appender } from './appender.ts'
import { blobs } from './blobs.ts'
import { changes } from './changes.ts'
import { connect } from './connection.ts'
import { blobStreams, conversations, directory } from './directory.ts'
import { unavailable } from './failures.ts'
import { follow } from './follow.ts'
import { losses } from './losses.ts'
import { checkpointOf, isOfServer, type Place, placeOf, recordedOf, type ServerEvent } from './messages.ts'
import { reads } from './reads.ts'
import { recentIds } from './recent.ts'
import { esdbSettings } from './settings.ts'
import { stamped } from './stamp.ts'

/** How far a checkpoint may be behind the last event: a server also counts what is no event. A chunk of its log. */
const slack = 256n * 1024n * 1024n

type Result<A, Err = never> = Promise<E.Either<StoreError | Err, A>>

/**
 * Opens an EventStoreDB node (`esdb://user:password@host:2113?tls=true`) or cluster (`esdb+discover://…`) as a store. Looks whether
 * it answers.
 */
export const openEventStoreDb =
  (url: string): TaskEither<StoreError | InvalidInput, EventStore> =>
  async () => {
    const settings = esdbSettings(url)
    if (E.isLeft(settings)) return settings
    const connected = connect(settings.right)
    if (E.isLeft(connected)) return connected
    const connection = connected.right
    const reading = reads(connection)
    const appending = appender(connection)
    // No stream of the server itself: those are for administrators only.
    const answered = await reading.whatIsThere({
      stream: 'palimpsest',
      from: 0,
      direction: 'forwards',
      limit: 1,
    })
    if (E.isLeft(answered)) {
      await connection.close()
      return answered
    }
    const underWay = new Set<Promise<unknown>>()

    const whenOpen =
      <A, Err = never>(run: () => Result<A, Err>): TaskEither<StoreError | Err, A> =>
      async () =>
        connection.closing.aborted ? E.left(storeClosed(settings.right.url)) : run()

    const append = async ({
      stream,
      events,
      expected,
      isNew = false,
      isUnasked = false,
    }: Append): Result<Appended, Conflict> => {
      const ready = await (expected < 0 ? listed.begin(stream) : lost.check(stream))
      if (E.isLeft(ready)) return E.left(unwritten(ready.left))
      const sent = stamped(events, !isNew && !isUnasked)
      const answer = appending({ stream, events: sent, expected })
      if (expected >= 0) void lost.look(stream)
      const appended = await answer
      const isAmbiguous = E.isLeft(appended) ? appended.left._tag === 'Conflict' : !isNew
      if (!isAmbiguous) return E.map((): Appended => 'written')(appended)
      if (isUnasked && E.isRight(appended)) return E.right('taken')
      // The server takes events that it has for a success, and does not say so; and a try that nobody answered may have been one.
      const last = sent.at(-1)
      const from = expected + events.length
      const there = await reading.range({ stream, from, direction: 'forwards', limit: 1 })
      if (E.isLeft(there)) return E.left(outcomeUnknown(stream, idsOf(events), there.left))
      const [found] = there.right
      if (!found || found.id !== last?.id) return E.isLeft(appended) ? appended : E.right('repeated')
      return E.right(isSame(found, last) ? 'written' : 'repeated')
    }

    /** Where its entry fails, nothing of the stream itself was sent. */
    const unwritten = (error: StoreError): StoreError => {
      if (error._tag !== 'OutcomeUnknown') return error
      const { url: store } = settings.right
      return connection.closing.aborted ? storeClosed(store) : unavailable(store, 'no answer', error.cause)
    }

    /** An append that closing waits for. */
    const appended = (request: Append): Result<Appended, Conflict> => {
      const result = append(request)
      underWay.add(result)
      return result.finally(() => underWay.delete(result))
    }

    const noPlace = (after: unknown): InvalidInput => noCheckpoint(settings.right.url, after)

    const placed = (after: unknown): E.Either<InvalidInput, Place | undefined> => {
      const place = typeof after === 'string' ? placeOf(after) : undefined
      return after === undefined || place ? E.right(place) : E.left(noPlace(after))
    }

    /** Whether the place is surely behind all that there is: of another server, or of what this one has lost. */
    const isBeyond = async (place: Place | undefined): Promise<boolean> => {
      const end = place ? await reading.end() : E.right(undefined)
      return E.isRight(end) && BigInt(place?.commit ?? 0) > BigInt(end.right?.commit ?? 0) + slack
    }

    async function* followed(options: FollowOptions): AsyncGenerator<Followed, void> {
      const after = placed(options.after)
      if (E.isLeft(after)) throw toError(after.left)
      if (await isBeyond(after.right)) throw toError(noPlace(options.after))
      yield* follow(connection, after.right, options)
    }

    const find = recentIds(reading)
    const lost = losses(reading)
    const listed = directory(reading, appending, conversations)
    const look = changes(reading)
    let names: readonly string[] = []
    /** The first page looks anew. */
    const streams = async (prefix: string, after: string, limit: number): Result<readonly string[]> => {
      const all = after === '' ? await listed.all() : E.right(names)
      if (E.isLeft(all)) return all
      names = after === '' ? all.right.toSorted() : names
      return E.right(names.filter((name) => name.startsWith(prefix) && name > after).slice(0, limit))
    }
    return E.right({
      url: settings.right.url,
      append: (request) =>
        whenOpen<Appended, Conflict | InvalidInput>(async () => {
          const checked = checkedAppend(request)
          return E.isLeft(checked) ? checked : appended(checked.right)
        }),
      read: (range) =>
        whenOpen(async () =>
          E.map((events: readonly ServerEvent[]) => events.map(recordedOf))(await reading.range(range)),
        ),
      find: (stream, id) => whenOpen(() => find(stream, id)),
      // The database counts nothing.
      count: () => whenOpen(async () => E.right(undefined)),
      keptEnd: () => whenOpen(async () => E.right(undefined)),
      streams: (prefix, after, limit) => whenOpen(() => streams(prefix, after, limit)),
      newest: (prefix, before, limit) => whenOpen(() => listed.newest(prefix, before, limit)),
      changed: (prefix, since) => whenOpen(() => look(prefix, since)),
      readAll: ({ prefixes = [''], after, limit }: AllRange) =>
        whenOpen<AllPage, InvalidInput>(async () => {
          const place = placed(after)
          if (E.isLeft(place)) return place
          const read = await reading.all({ on: 'stream', prefixes }, place.right, limit)
          if (E.isRight(read) && read.right.length === 0 && (await isBeyond(place.right)))
            return E.left(noPlace(after))
          return E.map((events: readonly ServerEvent[]) => {
            const last = events.at(-1)
            const own = events.filter((event) => !isOfServer(event))
            return { events: own.map(recordedOf), checkpoint: last ? checkpointOf(last.place) : after }
          })(read)
        }),
      follow: followed,
      blobs: blobs(connection, reading, appending, directory(reading, appending, blobStreams)),
      maxAppendBytes: settings.right.maxAppendBytes,
      close: () => async () => {
        await connection.close(underWay)
        return E.right(undefined)
      },
    })
  }

const isSame = ({ data, metadata }: ServerEvent, event: StoredEvent): boolean =>
  Buffer.from(event.data).equals(data) && Buffer.from(event.metadata).equals(metadata)

const idsOf = (events: readonly StoredEvent[]): readonly string[] => events.map(({ id }) => id)
