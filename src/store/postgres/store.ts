import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import { pause } from '../../result/timers.ts'
import { checkAppend } from '../check-append.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { followTail } from '../follow.ts'
import type { AppendRequest, EventStore } from '../port.ts'
import { pulse } from '../pulse.ts'
import { type TailSource, tailOf } from '../tail.ts'
import { toRecordedEvents, type WrittenAppend } from '../written-append.ts'
import { postgresBlobs, type RunOnSession } from './blobs.ts'
import { isOfConnection, storeError } from './failures.ts'
import { listenForOthers } from './listen.ts'
import { postgresLiveness } from './liveness.ts'
import { prepareSchema } from './migrate.ts'
import { postgresReads, type SessionRead } from './reads.ts'
import { scrub } from './scrub.ts'
import { openSession, sessionPool } from './session.ts'
import { type PostgresSettings, postgresSettings } from './settings.ts'
import { postgresWriter } from './writer.ts'

/** Interval at which followers read in the absence of notifications, in milliseconds. */
const pollInterval = 1_000
/** The same through a pooler, where there are no notifications. */
const pooledInterval = 50
/** Wait before a read is repeated after a lost connection, in milliseconds: the first, and the longest. */
const firstPause = 10
const longestPause = 1_000
/** Maximum bytes of a text that is in an index: a third of a page of the database. */
const longestKey = 2_500
/** Maximum bytes of an append: a value of the database has less than 1 GiB. */
const maxAppendBytes = 256 * 1024 * 1024

/**
 * Opens a PostgreSQL database as a store: `postgres://user:password@host:5432/database?schema=palimpsest` (docs/postgres.md). Unless
 * `create` is false, creates the schema if it is missing.
 */
export const openPostgres = (url: string, create = true): TaskEither<StoreError | InvalidInput, EventStore> =>
  task(async function* (): Fallible<StoreError | InvalidInput, EventStore> {
    const settings = yield* unwrap(postgresSettings(url))
    try {
      const session = await openSession(settings)
      try {
        await prepareSchema(session, settings, create)
      } finally {
        session.end()
      }
    } catch (error) {
      return yield storeError(settings.url, error)
    }
    return storeOn(settings)
  })

const storeOn = (settings: PostgresSettings): EventStore => {
  const { url, patience } = settings
  const closing = new AbortController()
  const changes = pulse()
  const pool = sessionPool(settings)
  const reads = postgresReads(settings)
  const isClosed = (): boolean => closing.signal.aborted

  /** Runs work, again if the connection is lost, until the time for all attempts is over. */
  const attempted = async <A>(work: SessionRead<A>): Promise<E.Either<StoreError, A>> => {
    const end = performance.now() + patience
    for (let wait = firstPause; ; wait = Math.min(2 * wait, longestPause)) {
      if (isClosed()) return E.left(storeClosed(url))
      try {
        return E.right(await pool.use(work))
      } catch (error) {
        if (isClosed()) return E.left(storeClosed(url))
        if (!isOfConnection(error) || performance.now() + wait > end) return E.left(storeError(url, error))
      }
      await pause(wait, closing.signal)
    }
  }
  const reading: RunOnSession = (work) => () => attempted(work)

  const page: TailSource['page'] = async (range) => {
    const read = await attempted(reads.all(range))
    return E.isLeft(read) ? read : read.right
  }
  const source: TailSource = {
    page,
    pulse: changes,
    isClosed,
    get pollInterval() {
      return pool.isPooled() ? pooledInterval : pollInterval
    },
    watchOthers: (signal) =>
      listenForOthers(settings, pool, AbortSignal.any([signal, closing.signal]), (pid) => {
        // The events of this process's own appends are passed on when they return.
        if (pid === undefined || pid !== writer.pid()) changes.beat()
      }),
  }
  const tail = tailOf(source)
  const wrote = (kept: readonly WrittenAppend[]): void => {
    if (!tail.offer(() => kept.flatMap(toRecordedEvents))) changes.beat()
  }
  const writer = postgresWriter(settings, pool, closing.signal, wrote)
  const liveness = postgresLiveness(settings, pool, closing.signal)
  let isClosing = false

  return {
    url,
    append: (request) => () => {
      if (isClosing) return Promise.resolve(E.left(storeClosed(url)))
      const checked = checkAppend(request)
      if (E.isLeft(checked)) return Promise.resolve(checked)
      const problem = keyProblem(checked.right)
      return problem ? Promise.resolve(E.left(problem)) : writer.append(checked.right)
    },
    read: (range) => reading(reads.page(range)),
    beginnings: (names, limit) => reading(reads.beginnings(names, limit)),
    find: (stream, id) => reading(reads.find(stream, id)),
    count: (stream, type, through) => reading(reads.count(stream, type, through)),
    // Positions without gaps reveal removed events; the ends of streams are not recorded, because that would slow every append.
    keptEnd: () => reading(() => Promise.resolve(undefined)),
    streams: (prefix, after, limit) => reading(reads.streams(prefix, after, limit)),
    newest: (prefixes, before, limit) => reading(reads.newest(prefixes, before, limit)),
    changed: (prefix, since) => reading(reads.changed(prefix, since)),
    readAll: (range) => () => page(range),
    follow: (options) => followTail(source, tail, options),
    blobs: postgresBlobs(settings, reading),
    scrub: () => reading(scrub(settings)),
    liveness,
    maxAppendBytes,
    close: () => async () => {
      isClosing = true
      liveness.drop()
      await writer.finish()
      closing.abort()
      pool.close()
      changes.beat()
      return E.right(undefined)
    },
  }
}

/** Returns the error of an append with a text that is too long for an index. */
const keyProblem = ({ stream, events }: AppendRequest): InvalidInput | undefined => {
  const isLong = (text: string): boolean =>
    text.length > longestKey / 4 && Buffer.byteLength(text) > longestKey
  if (isLong(stream)) return invalidInput('stream', tooLong)
  const index = events.findIndex(({ id, type }) => isLong(id) || isLong(type))
  return index < 0 ? undefined : invalidInput(`events[${index}]`, tooLong)
}

const tooLong = `a PostgreSQL store keeps names of streams, and ids and types of events, of at most ${longestKey} bytes: shorten it`
