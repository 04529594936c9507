import * as E from 'fp-ts/lib/Either.js'
import type { EventTooLarge } from '../../events/errors.ts'
import { pause } from '../../result/timers.ts'
import { breath } from '../breath.ts'
import { parseCheckpoint } from '../checkpoints.ts'
import { type Conflict, conflict, outcomeUnknown, type StoreError } from '../errors.ts'
import type { AppendOutcome, AppendRequest } from '../port.ts'
import type { WrittenAppend } from '../written-append.ts'
import { isOfConnection, isOfIsolation, isOfStatement, storeError } from './failures.ts'
import type { QueryRow, DatabaseSession, SessionPool } from './session.ts'
import { lockKey, type PostgresSettings } from './settings.ts'

export type PostgresAppendResult = E.Either<StoreError | Conflict | EventTooLarge, AppendOutcome>

interface Waiting {
  readonly request: AppendRequest
  readonly settle: (outcome: PostgresAppendResult) => void
}

export interface PostgresWriter {
  readonly append: (request: AppendRequest) => Promise<PostgresAppendResult>
  /** Process id of the writing session; undefined through a pooler, and while there is no session. */
  readonly pid: () => number | undefined
  /** Resolves when all appends made so far have completed or failed. */
  readonly finish: () => Promise<void>
}

/** Maximum number of appends, of their events, and of characters in one call. */
const mostAppends = 128
const mostEvents = 1_000
const mostText = 4 * 1024 * 1024

/** Wait before another attempt after a lost connection, in milliseconds: the first, and the longest. */
const firstPause = 20
const longestPause = 1_000
/** Time without an answer after which the holder of the lock is examined, in milliseconds. */
const holderPatience = 2_500

/** True if an append depends on other streams, or replaces events. Such an append is a call of its own. */
const isConditional = ({ unchanged, unwritten, replaces }: AppendRequest): boolean =>
  (unchanged?.length ?? 0) > 0 || unwritten !== undefined || (replaces?.length ?? 0) > 0

const sizeOf = ({ events }: AppendRequest): number =>
  events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0)

/**
 * Creates a writer of appends. While a call is under way, the appends that arrive wait, and share the next call, and therefore one lock
 * and one wait for the disk. Each has its own outcome.
 *
 * A call whose answer is lost is repeated: an append that was written returns `repeated` then, because its events have their ids. Only
 * if the server cannot be asked again in time is the outcome unknown.
 *
 * @param wrote called with the written appends, in order, after the commit
 */
export const postgresWriter = (
  settings: PostgresSettings,
  pool: SessionPool,
  closing: AbortSignal,
  wrote: (kept: readonly WrittenAppend[]) => void,
): PostgresWriter => {
  const { url, schema, patience, timeout, attempt } = settings
  const waiting: Waiting[] = []
  let session: DatabaseSession | undefined
  let running: Promise<void> | undefined
  /** True if calls must name the isolation level of their transaction, because nobody else does. */
  let needsTransaction = false

  const opened = async (): Promise<DatabaseSession> => {
    if (session && !session.isOver()) return session
    const own = await pool.open()
    session = own
    // Through a pooler, each call sets it.
    if (!own.isPooled) await own.query(`SET lock_timeout = ${timeout}`)
    return own
  }

  const statement = (text: string, values: readonly unknown[], name: string): Promise<readonly QueryRow[]> =>
    withHolderChecks(async () => {
      const own = await opened()
      own.keepAlive(true)
      const all = [own.isPooled ? timeout : null, ...values]
      try {
        if (!needsTransaction) return await own.query(text, all, name, attempt + timeout)
        await own.query('BEGIN ISOLATION LEVEL READ COMMITTED')
        try {
          const rows = await own.query(text, all, name, attempt + timeout)
          await own.query('COMMIT')
          return rows
        } catch (error) {
          if (!own.isOver()) await own.query('ROLLBACK').catch(() => own.end())
          throw error
        }
      } finally {
        own.keepAlive(false)
      }
    })

  /** Runs a call; while it is not answered, looks for a session that holds the lock but no longer sends anything. */
  const withHolderChecks = async <A>(call: () => Promise<A>): Promise<A> => {
    const check = (): void => {
      pool.use((other) => other.query(endStuckHolder(schema), [])).catch(() => undefined)
      late = setTimeout(check, holderPatience)
    }
    let late = setTimeout(check, holderPatience)
    try {
      return await call()
    } finally {
      clearTimeout(late)
    }
  }

  const call = async (requests: readonly AppendRequest[]): Promise<readonly QueryRow[]> => {
    const [first] = requests
    if (!first || requests.length > 1) return statement(...batchCall(settings, requests))
    if (isConditional(first)) return statement(...conditionalCall(settings, first))
    if (first.events.length > 1) return statement(...batchCall(settings, requests))
    const [row] = await statement(...eventCall(settings, first))
    return [outcomeIn(Number(row?.['place']))]
  }

  /** Calls until there is an answer, or the time for all attempts is over. */
  const answered = async (
    requests: readonly AppendRequest[],
  ): Promise<E.Either<{ readonly error: unknown; readonly isUnsure: boolean }, readonly QueryRow[]>> => {
    const end = performance.now() + patience
    let isUnsure = false
    for (let wait = firstPause; ; wait = Math.min(2 * wait, longestPause)) {
      let isSent = false
      try {
        await opened()
        isSent = true
        return E.right(await call(requests))
      } catch (error) {
        if (isOfIsolation(error) && !needsTransaction) {
          needsTransaction = true
          continue
        }
        const isLost = isOfConnection(error)
        if (isLost && isSent) {
          session?.end()
          session = undefined
          isUnsure = true
        }
        const isOver = performance.now() + wait > end || closing.aborted
        if (isOver || !isLost) return E.left({ error, isUnsure })
      }
      await pause(wait, closing)
    }
  }

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const requests = batch.map(({ request }) => request)
    const answer = await answered(requests)
    if (E.isLeft(answer)) {
      const { error, isUnsure } = answer.left
      // The texts of one append must not fail the others.
      if (batch.length > 1 && !isUnsure && isOfStatement(error)) {
        for (const one of batch) await send([one])
        return
      }
      for (const { request, settle } of batch) {
        const ids = request.events.map(({ id }) => id)
        settle(E.left(isUnsure ? outcomeUnknown(request.stream, ids, error) : storeError(url, error)))
      }
      return
    }
    const kept: WrittenAppend[] = []
    batch.forEach(({ request, settle }, index) => {
      const { outcome, actual, place, other } = answer.right[index] ?? {}
      if (outcome === 'written') kept.push({ request, position: Number(place) })
      const isOther = typeof other === 'string'
      const stream = isOther ? other : request.stream
      const expected = isOther
        ? (request.unchanged?.find((end) => end.stream === other)?.expected ?? -1)
        : request.expected
      settle(
        outcome === 'written' || outcome === 'repeated'
          ? E.right(outcome)
          : E.left(conflict(stream, expected, Number(actual))),
      )
    })
    if (kept.length > 0) wrote(kept)
  }

  /** Takes the appends of the next call from those that wait. */
  const nextBatch = (): readonly Waiting[] => {
    const batch: Waiting[] = []
    let events = 0
    let text = 0
    for (let next = waiting[0]; next; next = waiting[0]) {
      events += next.request.events.length
      text += sizeOf(next.request)
      const isFull = batch.length >= mostAppends || events > mostEvents || text > mostText
      if (batch.length > 0 && (isFull || isConditional(next.request))) break
      batch.push(next)
      waiting.shift()
      if (isConditional(next.request)) break
    }
    return batch
  }

  const runAll = async (): Promise<void> => {
    // Everything that the current task still appends shares the first call.
    await breath()
    while (waiting.length > 0) await send(nextBatch())
    running = undefined
  }

  return {
    append: (request) =>
      new Promise((settle) => {
        waiting.push({ request, settle })
        running ??= runAll()
      }),
    pid: () => (session && !session.isPooled ? session.pid : undefined),
    finish: async () => {
      while (running) await running
      session?.end()
    },
  }
}

/** A function of the store, with its parameters after the first. */
type Call = readonly [text: string, values: readonly unknown[], name: string]

const isFindable = ({ repeat = 'none' }: AppendRequest, index: number): true | null =>
  repeat === 'each' || (repeat !== 'none' && index === 0) ? true : null

/** Converts the result of `append_event` to the row of an append. */
const outcomeIn = (place: number): QueryRow =>
  place > 0
    ? { outcome: 'written', place }
    : place === 0
      ? { outcome: 'repeated' }
      : { outcome: 'conflict', actual: -2 - place }

const eventCall = ({ schema }: PostgresSettings, request: AppendRequest): Call => {
  const { stream, expected, events } = request
  const [event] = events
  return [
    `SELECT ${schema}.append_event($1, $2, $3, $4, $5, $6, $7, $8) AS place`,
    [stream, expected, event?.id, event?.type, event?.data, event?.metadata, isFindable(request, 0)],
    'append_event',
  ]
}

/** Returns the columns of the events of some appends, one after the other. */
const columnsOf = (requests: readonly AppendRequest[]): readonly (readonly unknown[])[] => {
  const all = requests.flatMap((request) =>
    request.events.map((event, index) => ({ ...event, findable: isFindable(request, index) })),
  )
  return [
    all.map(({ id }) => id),
    all.map(({ type }) => type),
    all.map(({ data }) => data),
    all.map(({ metadata }) => metadata),
    all.map(({ findable }) => findable),
  ]
}

const batchCall = ({ schema }: PostgresSettings, requests: readonly AppendRequest[]): Call => [
  `SELECT * FROM ${schema}.append_batch($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
  [
    requests.map(({ stream }) => stream),
    requests.map(({ expected }) => expected),
    requests.map(({ events }) => events.length),
    ...columnsOf(requests),
  ],
  'append_batch',
]

const conditionalCall = ({ schema }: PostgresSettings, request: AppendRequest): Call => {
  const { stream, expected, unchanged = [], unwritten, replaces = [] } = request
  return [
    `SELECT * FROM ${schema}.append_if($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [
      stream,
      expected,
      ...columnsOf([request]),
      unchanged.map((end) => end.stream),
      unchanged.map((end) => end.expected),
      unwritten?.prefix ?? null,
      parseCheckpoint(unwritten?.since)?.position ?? 0,
      replaces.map((one) => one.stream),
      replaces.map(({ revision }) => revision),
      replaces.map(({ event }) => event.data),
      replaces.map(({ event }) => event.metadata),
    ],
    'append_if',
  ]
}

/**
 * Ends a session that holds the lock of all appends and has sent nothing for seconds: the last bytes of its call were lost while its
 * connection stays open, or its process is stopped. No timeout of the server ends it. Its writer repeats the call.
 */
const endStuckHolder = (schema: string): string => {
  const key = BigInt.asUintN(64, BigInt(lockKey(schema, 'append')))
  return `SELECT pg_catalog.pg_terminate_backend(a.pid)
    FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid AND a.datname = current_database()
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.classid = ${key >> 32n}::oid AND l.objid = ${key & 0xffffffffn}::oid
      AND a.usename = current_user AND a.wait_event = 'ClientRead'
      AND clock_timestamp() - greatest(a.query_start, a.state_change) > interval '2 seconds'`
}
