import type { Client } from 'pg'
import type { StoreError } from '../errors.ts'
import { toError } from '../../result/typed-error.ts'
import { timer } from '../../result/timers.ts'
import { noAnswer } from './failures.ts'
import type { PostgresSettings, ServerAddress } from './settings.ts'

/** A row of a result, by column. Numbers of 64 bits are texts. */
export type QueryRow = Readonly<Record<string, unknown>>

/** A connection to the primary, for one caller at a time. Its methods throw the driver's errors. */
export interface DatabaseSession {
  /** True through a pooler: then the next statement may run on another connection to the server. */
  readonly isPooled: boolean
  /** Process id of the server's side; only meaningful if `isPooled` is false. */
  readonly pid: number
  /**
   * Runs a statement and returns its rows. Ends the session if there is no answer in time.
   *
   * @param name name under which the server keeps the parsed statement; ignored through a pooler
   * @param ms maximum time in milliseconds. Default: the store's time for one attempt
   */
  readonly query: (
    text: string,
    values?: readonly unknown[],
    name?: string,
    ms?: number,
  ) => Promise<readonly QueryRow[]>
  /** Begins to receive notifications of a channel, with the process id of the notifying session. */
  readonly listen: (channel: string, received: (pid: number) => void) => Promise<void>
  readonly isOver: () => boolean
  /** Calls a function once the connection has ended for any reason. */
  readonly whenOver: (call: () => void) => void
  readonly end: () => void
  /** True if the connection keeps the process alive while it waits. */
  readonly keepAlive: (isKept: boolean) => void
}

/** Oldest supported version of the server, as in `server_version_num`. */
const oldest = 120_000

/**
 * Settings of a session. They win over those of the role and the database, such as another `search_path` or isolation level. A pooler
 * would give them to other clients, so there the functions of the store check them. A session that listens or holds names is idle for
 * long, so `idle_session_timeout` (PostgreSQL 14) is turned off, too.
 */
const sessionSettings: Readonly<Record<string, string>> = {
  search_path: 'pg_catalog',
  default_transaction_isolation: 'read committed',
  array_nulls: 'on',
  idle_in_transaction_session_timeout: '10000',
  // Otherwise some statements are planned at each call, which takes two to five times as long as running them.
  plan_cache_mode: 'force_generic_plan',
  // A session whose client is gone without a word ends within seconds, and frees its locks.
  tcp_keepalives_idle: '2',
  tcp_keepalives_interval: '1',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '5000',
}

// Qualified to the operator, because the session's own `search_path` is not set yet.
const introduce = `SELECT pg_catalog.pg_backend_pid() AS pid, pg_catalog.pg_is_in_recovery() AS standby,
  pg_catalog.current_setting('server_version_num') AS version, pg_catalog.current_setting('server_encoding') AS encoding,
  CASE WHEN pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) $1::pg_catalog.int4 THEN ARRAY[${Object.entries(
    sessionSettings,
  )
    .map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', false)`)
    .join(', ')}, CASE WHEN pg_catalog.current_setting('idle_session_timeout', true) IS NOT NULL
      THEN pg_catalog.set_config('idle_session_timeout', '0', false) END] END AS settings`

/** Loads the driver, an optional dependency. */
const loadDriver = async (url: string): Promise<typeof Client> => {
  try {
    return (await import('pg')).default.Client
  } catch (cause) {
    if (Reflect.get(Object(cause), 'code') !== 'ERR_MODULE_NOT_FOUND') throw cause
    const message = `${url} needs the package pg: npm install pg`
    throw toError<StoreError>({ _tag: 'StoreUnavailable', message, store: url, cause })
  }
}

/** Opens a session on the first of the servers that is a primary. Throws the driver's errors, or a `StoreError`. */
export const openSession = async (settings: PostgresSettings): Promise<DatabaseSession> => {
  const Driver = await loadDriver(settings.url)
  const failures: unknown[] = []
  for (const server of settings.servers)
    try {
      return await sessionOn(Driver, settings, server)
    } catch (error) {
      failures.push(error)
    }
  // Of several servers, a standby answers while the primary does not.
  throw failures.find((error) => Reflect.get(Object(error), '_tag') !== 'StoreReadOnly') ?? failures[0]
}

const sessionOn = async (
  Driver: typeof Client,
  { url, database, user, password, ssl, channelBinding, attempt }: PostgresSettings,
  { host, port }: ServerAddress,
): Promise<DatabaseSession> => {
  const client = new Driver({
    host,
    port,
    ssl,
    enableChannelBinding: ssl !== false && channelBinding !== 'disable',
    ...(database !== undefined && { database }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    application_name: 'palimpsest',
    connectionTimeoutMillis: attempt,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  let unbound: Error | undefined
  if (channelBinding === 'require') requireChannelBinding(client, (error) => (unbound = error))
  // The declarations of the driver lack these two.
  const holder = client as Client & { readonly ref: () => void; readonly unref: () => void }
  let isOver = false
  const calls: (() => void)[] = []
  const over = (): void => {
    if (isOver) return
    isOver = true
    for (const call of calls) call()
  }
  // The loss of an idle connection is an event; without a listener, the process would end.
  client.on('error', over)
  client.on('end', over)
  const end = (): void => {
    over()
    client.end().catch(() => undefined)
  }
  const query = async (
    text: string,
    values: readonly unknown[] = [],
    name?: string,
    ms = attempt,
  ): Promise<readonly QueryRow[]> => {
    let isLate = false
    const late = timer(ms, () => {
      isLate = true
      end()
    })
    try {
      const { rows } = await client.query<QueryRow>({
        text,
        values: [...values],
        ...(name !== undefined && { name }),
      })
      return rows
    } catch (error) {
      throw isLate ? noAnswer(ms) : error
    } finally {
      clearTimeout(late)
    }
  }
  try {
    await client.connect()
    const own: unknown = Reflect.get(client, 'processID')
    const [row = {}] = await query(introduce, [own])
    const { pid, standby, version, encoding } = row
    if (standby === true) throw toError(standbyError(url, `${host}:${port}`))
    if (Number(version) < oldest)
      throw toError(refusal(url, `PostgreSQL 12 or newer is needed, not ${String(version)}`))
    if (encoding !== 'UTF8')
      throw toError(
        refusal(url, `the encoding of the database must be UTF8, not ${String(encoding)}: create another`),
      )
    const isPooled = Number(pid) !== own
    return {
      isPooled,
      pid: Number(pid),
      query: isPooled ? (text, values, _, ms) => query(text, values, undefined, ms) : query,
      listen: async (channel, received) => {
        client.on('notification', ({ processId }) => received(processId))
        await query(`LISTEN "${channel}"`)
      },
      isOver: () => isOver,
      whenOver: (call) => {
        if (isOver) call()
        else calls.push(call)
      },
      end,
      keepAlive: (isKept) => {
        if (isOver) return
        holder[isKept ? 'ref' : 'unref']()
      },
    }
  } catch (error) {
    end()
    throw unbound ?? error
  }
}

/**
 * Ends a connection whose server would let the client in without binding the login to the connection, before a password is sent: it may
 * be another server in between. The driver alone takes what is offered.
 */
const requireChannelBinding = ({ connection }: Client, refused: (error: Error) => void): void => {
  let isBound = false
  const refuse = (): void => {
    refused(new Error('the server offers no channel binding, which the URL requires'))
    connection.stream.destroy()
  }
  connection.on('authenticationSASL', ({ mechanisms }: { readonly mechanisms: readonly string[] }) => {
    isBound = mechanisms.includes('SCRAM-SHA-256-PLUS')
    if (!isBound) refuse()
  })
  for (const other of ['authenticationCleartextPassword', 'authenticationMD5Password'])
    connection.on(other, refuse)
  connection.on('authenticationOk', () => {
    if (!isBound) refuse()
  })
}

const refusal = (store: string, problem: string): StoreError => ({
  _tag: 'StoreUnavailable',
  message: `${store}: ${problem}`,
  store,
})

/** Locks that a standby grants exclude nobody, and its reads may be older than an append that has returned. */
const standbyError = (store: string, server: string): StoreError => ({
  _tag: 'StoreReadOnly',
  message: `${store}: ${server} is a standby: name the primary, or list all servers as postgres://host1,host2/database`,
  store,
})

/** Connections for reads and blobs, each used by one caller at a time. */
export interface SessionPool {
  /** Runs work on a session as soon as one is free. Throws what the work throws. */
  readonly use: <A>(work: (session: DatabaseSession) => Promise<A>) => Promise<A>
  /** Opens a session for the caller alone, which ends it. */
  readonly open: () => Promise<DatabaseSession>
  /** True if the last session that was opened is through a pooler. */
  readonly isPooled: () => boolean
  readonly close: () => void
}

/** Creates a pool of at most `connections` sessions, which are opened when they are needed. */
export const sessionPool = (settings: PostgresSettings): SessionPool => {
  const free: DatabaseSession[] = []
  const all = new Set<DatabaseSession>()
  const waiting: (() => void)[] = []
  let size = 0
  let isPooled = false
  let isClosed = false

  const open = async (): Promise<DatabaseSession> => {
    const session = await openSession(settings)
    isPooled = session.isPooled
    all.add(session)
    session.whenOver(() => all.delete(session))
    if (isClosed) session.end()
    return session
  }

  const take = async (): Promise<DatabaseSession> => {
    for (;;) {
      const session = free.pop()
      if (session && !session.isOver()) return session
      if (session) size--
      else if (size < settings.connections) {
        size++
        try {
          return await open()
        } catch (error) {
          size--
          waiting.shift()?.()
          throw error
        }
      } else await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }

  return {
    use: async (work) => {
      const session = await take()
      session.keepAlive(true)
      try {
        return await work(session)
      } finally {
        session.keepAlive(false)
        free.push(session)
        waiting.shift()?.()
      }
    },
    open,
    isPooled: () => isPooled,
    close: () => {
      isClosed = true
      for (const session of all) session.end()
    },
  }
}
