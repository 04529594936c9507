import { randomUUID } from 'node:crypto'
import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { hashOf } from '../../events/codec.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { checkAppend } from '../check-append.ts'
import { checkpointAt, noCheckpoint, parseCheckpoint } from '../checkpoints.ts'
import { type Conflict, conflict, type StoreClosed, storeClosed } from '../errors.ts'
import { followTail } from '../follow.ts'
import type { AppendRequest, AppendOutcome, EventStore, RecordedEvent, EventReplacement } from '../port.ts'
import { beginsWithOne } from '../prefixes.ts'
import { pulse } from '../pulse.ts'
import { type TailSource, type TailPage, tailOf } from '../tail.ts'
import { memoryBlobs } from './blobs.ts'

/**
 * Creates a store that lives as long as the process. It is the shortest implementation of the port.
 *
 * @param url name of the store in messages
 * @param mark text that distinguishes the store's checkpoints from those of other stores; pass the same text for a store refilled with
 * the same appends
 */
export const memoryStore = (url = 'memory:', mark: string = randomUUID()): EventStore => {
  const all: RecordedEvent[] = []
  const streams = new Map<string, RecordedEvent[]>()
  const changes = pulse()
  let isClosed = false

  const whenOpen =
    <A, Err = never>(run: () => E.Either<Err, A>): TaskEither<Err | StoreClosed, A> =>
    async () =>
      isClosed ? E.left(storeClosed(url)) : run()

  const append = ({
    stream,
    events,
    expected,
    replaces = [],
    unchanged = [],
    unwritten,
  }: AppendRequest): E.Either<Conflict | InvalidInput, AppendOutcome> => {
    const recorded = streams.get(stream) ?? []
    const actual = recorded.length - 1
    for (const { stream: other, expected: last } of unchanged) {
      const now = (streams.get(other)?.length ?? 0) - 1
      if (now !== last) return E.left(conflict(other, last, now))
    }
    if (unwritten) {
      const { position } = parseCheckpoint(unwritten.since) ?? { position: -1 }
      if (all.slice(position + 1).some((event) => event.stream.startsWith(unwritten.prefix)))
        return E.left(conflict(stream, expected, actual))
    }
    if (actual !== expected) {
      const isRepeat = events.every(({ id }, index) => recorded[expected + 1 + index]?.id === id)
      if (!isRepeat) return E.left(conflict(stream, expected, actual))
      replaces.forEach(replace)
      return E.right('repeated')
    }
    for (const event of events) {
      const place = { stream, revision: recorded.length, checkpoint: checkpointAt(all.length, mark) }
      const stored = { ...event, ...place }
      recorded.push(stored)
      all.push(stored)
    }
    streams.set(stream, recorded)
    replaces.forEach(replace)
    changes.beat()
    return E.right('written')
  }

  const replace = ({ stream, revision, event }: EventReplacement): void => {
    const recorded = streams.get(stream)
    const before = recorded?.[revision]
    if (!recorded || !before) return
    recorded[revision] = { ...before, ...event }
    const place = parseCheckpoint(before.checkpoint)
    if (place) all[place.position] = recorded[revision]
  }

  const page: TailSource['page'] = ({ prefixes = [''], after, limit }) =>
    whenOpen<TailPage, InvalidInput>(() => {
      const place = parseCheckpoint(after)
      if (after !== undefined && !(place?.mark === mark && place.position < all.length))
        return E.left(noCheckpoint(url, after))
      const from = place ? place.position + 1 : 0
      const some = all.slice(from, from + limit)
      const events = some.filter(({ stream }) => beginsWithOne(stream, prefixes))
      return E.right({
        events,
        checkpoint: some.at(-1)?.checkpoint ?? after,
        isEnd: from + limit >= all.length,
      })
    })()

  const source: TailSource = { page, pulse: changes, isClosed: () => isClosed, pollInterval: Infinity }
  const tail = tailOf(source)

  return {
    url,
    append: (request) => whenOpen(() => pipe(checkAppend(request), E.flatMap(append))),
    read: ({ stream, from, direction, limit }) =>
      whenOpen(() => {
        const recorded = streams.get(stream) ?? []
        if (direction === 'forwards') return E.right(recorded.slice(from, from + limit))
        const end = Math.min(from + 1, recorded.length)
        return E.right(recorded.slice(Math.max(0, end - limit), end).toReversed())
      }),
    find: (stream, id) =>
      whenOpen(() => {
        const recorded = streams.get(stream) ?? []
        const found = recorded.find((event) => event.id === id)
        return E.right({ revision: found?.revision, through: recorded.length - 1 })
      }),
    count: (stream, type, through) =>
      whenOpen(() => {
        const counted = streams
          .get(stream)
          ?.filter((event) => event.type === type && event.revision <= through)
        return E.right(counted?.length ?? 0)
      }),
    keptEnd: (stream) =>
      whenOpen(() => {
        const last = streams.get(stream)?.at(-1)
        return E.right(last && { last: last.revision, hash: hashOf(last) })
      }),
    streams: (prefix, after, limit) =>
      whenOpen(() =>
        E.right(
          [...streams.keys()]
            .filter((name) => name.startsWith(prefix) && name > after)
            .toSorted()
            .slice(0, limit),
        ),
      ),
    newest: (prefixes, before, limit) =>
      whenOpen(() => {
        const names = [...streams.keys()].toReversed()
        const from = before === undefined ? 0 : names.indexOf(before) + 1
        return E.right(
          names
            .slice(from)
            .filter((name) => beginsWithOne(name, prefixes))
            .slice(0, limit),
        )
      }),
    changed: (prefix, since) =>
      whenOpen(() => {
        const place = parseCheckpoint(since)
        const events = place?.mark === mark ? all.slice(place.position + 1) : undefined
        const names = events?.map(({ stream }) => stream).filter((name) => name.startsWith(prefix))
        return E.right({ checkpoint: all.at(-1)?.checkpoint, streams: names && new Set(names) })
      }),
    readAll: (range) => () => page(range),
    follow: (options) => followTail(source, tail, options),
    blobs: memoryBlobs(url, () => isClosed),
    scrub: () => whenOpen(() => E.right(undefined)),
    maxAppendBytes: Infinity,
    close: () => async () => {
      isClosed = true
      changes.beat()
      return E.right(undefined)
    },
  }
}
