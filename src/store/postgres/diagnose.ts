import { randomUUID } from 'node:crypto'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { conversationOf, streamOf } from '../../events/ids.ts'
import { type Fallible, task, unwrap } from '../../result/fallible.ts'
import { bytesText, type DiagnosisFinding, findingOf, roundTrips, roundTripsText } from '../diagnosis.ts'
import { holdsSecret, secretsFinding } from '../recorded-secrets.ts'
import { storeError } from './failures.ts'
import { versionIn } from './migrate.ts'
import { currentVersion } from './schema.ts'
import { openSession, type QueryRow, type DatabaseSession } from './session.ts'
import { type PostgresSettings, postgresSettings } from './settings.ts'

/** Maximum number of conversations to search for secrets, and of the configurations of each. */
const mostConversations = 1_000
const mostConfigurations = 10
/** Time in which events are counted, in milliseconds, and how many in one statement. */
const countingTime = 2_000
const countedAtOnce = 100_000
/** Share of dead rows, and minimum number of them, from which a table counts as bloated. */
const deadShare = 0.5
const leastDead = 10_000
/** Lag of a standby from which it is reported, in bytes of the write-ahead log. */
const longLag = 16 * 1024 * 1024

/** Examines a PostgreSQL store. To time durable writes, adds a row to `holders` and removes it again; no event is written. */
export const diagnosePostgres = (url: string): TaskEither<InvalidInput, readonly DiagnosisFinding[]> =>
  task(async function* (): Fallible<InvalidInput, readonly DiagnosisFinding[]> {
    const settings = yield* unwrap(postgresSettings(url))
    let session: DatabaseSession
    try {
      session = await openSession(settings)
    } catch (error) {
      return [findingOf('connection', 'problem', storeError(settings.url, error).message)]
    }
    const reached = findingOf('connection', 'ok', `${settings.url} answers as the primary`)
    try {
      return [reached, ...(await serverFindings(session, settings))]
    } catch (error) {
      return [reached, findingOf('server', 'problem', storeError(settings.url, error).message)]
    } finally {
      session.end()
    }
  })

const serverFindings = async (
  session: DatabaseSession,
  settings: PostgresSettings,
): Promise<readonly DiagnosisFinding[]> => {
  const { schema } = settings
  const [server = {}] = await session.query(
    `SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commits,
       current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages, current_setting('autovacuum') AS autovacuum,
       current_setting('synchronous_standby_names') AS standbys, current_setting('default_transaction_read_only') AS read_only,
       current_setting('statement_timeout') AS timeout,
       has_database_privilege(current_database(), 'CREATE') AS may_create`,
  )
  const found = [
    findingOf('server', 'ok', `PostgreSQL ${String(server['version'])}`),
    pooler(session),
    durability(server),
    await replication(session, server),
  ]
  if (server['read_only'] === 'on')
    found.push(
      findingOf(
        'writes',
        'problem',
        'default_transaction_read_only is on for this role or database: turn it off',
      ),
    )
  if (server['timeout'] !== '0')
    found.push(
      findingOf(
        'timeout',
        'warning',
        `statement_timeout is ${String(server['timeout'])}: an append that waits longer for other writers fails, so set it to 0 for this role`,
      ),
    )
  const version = await versionIn(session, schema)
  if (version === 0) {
    const isAllowed = server['may_create'] === true
    const advice = isAllowed
      ? 'an import or an append creates it'
      : `let this role create it: GRANT CREATE ON DATABASE`
    return [
      ...found,
      findingOf('schema', 'problem', `there is no store in the schema ${schema}: check the URL; ${advice}`),
    ]
  }
  if (version !== currentVersion)
    return [
      ...found,
      findingOf(
        'schema',
        version > currentVersion ? 'problem' : 'warning',
        `the schema has version ${version}, this version of palimpsest has ${currentVersion}: ${version > currentVersion ? 'upgrade palimpsest' : 'the next program that opens the store upgrades it'}`,
      ),
    ]
  return [
    ...found,
    findingOf('schema', 'ok', `schema ${schema}, version ${version}`),
    await permissions(session, schema),
    await positions(session, schema),
    await bloat(session, schema, server),
    await secrets(session, schema),
    await durableWrite(session, settings),
  ]
}

const pooler = ({ isPooled }: DatabaseSession): DiagnosisFinding =>
  isPooled
    ? findingOf(
        'pooler',
        'warning',
        'the connection goes through a pooler: followers poll, and a killed worker is noticed only when its heartbeats stop; connect workers directly',
      )
    : findingOf('pooler', 'ok', 'the connection is direct')

const durability = ({ commits, fsync, pages }: QueryRow): DiagnosisFinding => {
  if (fsync === 'off' || pages === 'off')
    return findingOf(
      'durability',
      'problem',
      `${fsync === 'off' ? 'fsync' : 'full_page_writes'} is off on the server: a power cut may damage the whole database; turn it on`,
    )
  // Appends turn it on for themselves.
  return commits === 'off'
    ? findingOf('durability', 'ok', 'synchronous_commit is off, but appends are made with it on')
    : findingOf(
        'durability',
        'ok',
        `an append that has returned is on the server's disk (synchronous_commit ${String(commits)})`,
      )
}

const replication = async ({ query }: DatabaseSession, { standbys }: QueryRow): Promise<DiagnosisFinding> => {
  const replicas = await query(
    'SELECT application_name, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint AS lag FROM pg_stat_replication',
  )
  const late = replicas.filter(({ lag }) => Number(lag ?? 0) > longLag)
  if (late.length > 0)
    return findingOf(
      'replication',
      'warning',
      late
        .map((one) => `${String(one['application_name'])} lags by ${bytesText(Number(one['lag']))}`)
        .join('; '),
    )
  if (standbys !== '') return findingOf('replication', 'ok', `synchronous standbys: ${String(standbys)}`)
  return replicas.length > 0
    ? findingOf(
        'replication',
        'warning',
        'replication is asynchronous: a failover may lose appends that have returned; set synchronous_standby_names',
      )
    : findingOf('replication', 'ok', 'no standby is connected')
}

const permissions = async ({ query }: DatabaseSession, schema: string): Promise<DiagnosisFinding> => {
  const [row = {}] = await query(
    `SELECT current_user AS role, coalesce(string_agg(c.relname, ', ' ORDER BY c.relname), '') AS lacking
     FROM pg_class c WHERE c.relnamespace = '${schema}'::regnamespace AND c.relkind = 'r'
     AND NOT (has_table_privilege(c.oid, 'SELECT') AND (c.relname = 'meta' OR has_table_privilege(c.oid, 'INSERT')))`,
  )
  return row['lacking'] === ''
    ? findingOf('permissions', 'ok', `${String(row['role'])} may read and append`)
    : findingOf(
        'permissions',
        'problem',
        `${String(row['role'])} lacks SELECT or INSERT on ${String(row['lacking'])}: grant it`,
      )
}

/** Positions begin with 1 and have no gaps, so their number reveals rows that are gone. Counts from the newest on while there is time. */
const positions = async ({ query }: DatabaseSession, schema: string): Promise<DiagnosisFinding> => {
  const [newest] = await query(
    `SELECT e.position AS last FROM ${schema}.events e ORDER BY e.position DESC LIMIT 1`,
  )
  const last = Number(newest?.['last'] ?? 0)
  const end = performance.now() + countingTime
  let to = last
  while (to > 0 && performance.now() < end) {
    const from = Math.max(0, to - countedAtOnce)
    const [row] = await query(
      `SELECT count(*) AS n FROM ${schema}.events e WHERE e.position > $1 AND e.position <= $2`,
      [from, to],
      'positions',
    )
    const missing = to - from - Number(row?.['n'])
    if (missing > 0)
      return findingOf(
        'events',
        'problem',
        `${missing} of the positions ${from + 1} to ${to} have no event: rows were removed; restore a dump`,
      )
    to = from
  }
  return findingOf(
    'events',
    'ok',
    to === 0
      ? `all ${last} events are there`
      : `the newest ${last - to} of ${last} events are there; there was no time to count the others`,
  )
}

const bloat = async (
  { query }: DatabaseSession,
  schema: string,
  { autovacuum }: QueryRow,
): Promise<DiagnosisFinding> => {
  const tables = await query(
    `SELECT relname, n_live_tup AS live, n_dead_tup AS dead FROM pg_stat_user_tables WHERE schemaname = $1`,
    [schema],
  )
  const bloated = tables.filter(
    ({ live, dead }) => Number(dead) > leastDead && Number(dead) > deadShare * Number(live),
  )
  if (bloated.length > 0)
    return findingOf(
      'autovacuum',
      'warning',
      `${bloated.map((one) => `${String(one['relname'])} has ${String(one['dead'])} dead rows`).join(', ')}: run VACUUM, and check autovacuum`,
    )
  return autovacuum === 'on'
    ? findingOf('autovacuum', 'ok', 'on, and no table is bloated')
    : findingOf('autovacuum', 'warning', 'off: turn it on, or run VACUUM regularly')
}

const secrets = async ({ query }: DatabaseSession, schema: string): Promise<DiagnosisFinding> => {
  const rows = await query(
    `SELECT s.name, e.data FROM (
       SELECT s.id, s.name FROM ${schema}.streams s WHERE starts_with(s.name, $1) ORDER BY s.id DESC LIMIT ${mostConversations}
     ) s LEFT JOIN LATERAL (
       SELECT e.data FROM ${schema}.events e WHERE e.stream = s.id AND e.type = 'Configured'
       ORDER BY e.revision DESC LIMIT ${mostConfigurations}
     ) e ON true`,
    [streamOf('')],
  )
  const found = new Set<string>()
  for (const { name, data } of rows) {
    const id = conversationOf(String(name))
    if (id !== undefined && typeof data === 'string' && holdsSecret(data)) found.add(id)
  }
  const isBound = new Set(rows.map(({ name }) => name)).size === mostConversations
  return secretsFinding(
    found,
    isBound ? ` (only the newest ${mostConversations} conversations were checked)` : '',
  )
}

/** Times two commits that wait for the disk. */
const durableWrite = async (
  { query }: DatabaseSession,
  { url, schema }: PostgresSettings,
): Promise<DiagnosisFinding> => {
  const name = `doctor-${randomUUID()}`
  try {
    const trips = await roundTrips(async () => {
      await query(`INSERT INTO ${schema}.holders VALUES ($1)`, [name])
      await query(`DELETE FROM ${schema}.holders WHERE name = $1`, [name])
    })
    return findingOf('writes', 'ok', `two durable writes: ${roundTripsText(trips)}`)
  } catch (error) {
    return findingOf('writes', 'problem', storeError(url, error).message)
  }
}
