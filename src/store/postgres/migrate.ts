import type { StoreError } from '../errors.ts'
import { toError } from '../../result/typed-error.ts'
import { codeOf } from './failures.ts'
import { currentVersion, migrations } from './schema.ts'
import type { DatabaseSession } from './session.ts'
import { lockKey, type PostgresSettings } from './settings.ts'

/** Returns the version of a store's tables; 0 if there are none. */
export const versionIn = async ({ query }: DatabaseSession, schema: string): Promise<number> => {
  try {
    const [row] = await query(`SELECT version FROM ${schema}.meta`)
    return Number(row?.['version'] ?? 0)
  } catch (error) {
    // Neither the schema nor the table has to exist.
    if (['3F000', '42P01'].includes(codeOf(error))) return 0
    throw error
  }
}

/**
 * Creates the schema with its tables, or brings them to the newest version. Several programs may do so at once. Throws the driver's
 * errors, and a `StoreError` if the tables are missing although `create` is false, are newer, or belong to another program.
 */
export const prepareSchema = async (
  session: DatabaseSession,
  { url, schema, timeout }: PostgresSettings,
  create: boolean,
): Promise<void> => {
  const found = await versionIn(session, schema)
  if (found > currentVersion) throw toError(tooNew(url, found))
  if (found === currentVersion) return
  if (found === 0 && !create) throw toError(missing(url, schema))
  const { query } = session
  await query('BEGIN ISOLATION LEVEL READ COMMITTED')
  try {
    await query(`SELECT set_config('lock_timeout', $1, true)`, [String(timeout)])
    await query(`SELECT pg_advisory_xact_lock(${lockKey(schema, 'schema')})`)
    // Asked first, because CREATE SCHEMA IF NOT EXISTS needs the right to create one even if there is one.
    const [there] = await query(
      `SELECT to_regnamespace('${schema}') IS NOT NULL AS known, to_regclass('${schema}.meta') IS NOT NULL AS used`,
    )
    if (there?.['known'] !== true) await query(`CREATE SCHEMA ${schema}`)
    // Another process may have done it in the meantime.
    const version = there?.['used'] === true ? await versionIn(session, schema) : 0
    if (version > currentVersion) throw toError(tooNew(url, version))
    for (const step of migrations(schema).slice(version)) await query(step)
    if (version === 0) await query(`INSERT INTO ${schema}.meta VALUES (${currentVersion})`)
    else if (version < currentVersion) await query(`UPDATE ${schema}.meta SET version = ${currentVersion}`)
    await query('COMMIT')
  } catch (error) {
    if (!session.isOver()) await query('ROLLBACK').catch(session.end)
    // A table or a function of that name exists already.
    if (['42P07', '42723'].includes(codeOf(error))) throw toError(foreign(url, schema, error))
    throw error
  }
}

const tooNew = (store: string, version: number): StoreError => ({
  _tag: 'StoreTooNew',
  message: `${store} has schema version ${version}, but this version of palimpsest supports only up to ${currentVersion}: upgrade palimpsest`,
  store,
})

const missing = (store: string, schema: string): StoreError => ({
  _tag: 'StoreNotFound',
  message: `${store} does not exist: there is no store in the schema ${schema} of this database; check the URL, or write to the store to create it`,
  store,
})

const foreign = (store: string, schema: string, cause: unknown): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store}: the schema ${schema} has tables of another program: name another schema in the URL, like ?schema=palimpsest2`,
  store,
  cause,
})
