import pg from 'pg'
import { atEnd } from '../at-end.ts'
import { lockKey } from '../../../src/store/postgres/settings.ts'
import { openPostgres } from '../../../src/store/postgres/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { right } from '../either.ts'
import { newSchema, postgresUrl } from './shared.ts'

/** A store of a test, which is closed after it. */
export const openedPostgres = async (url: string, create = true): Promise<EventStore> => {
  const store = right(await openPostgres(url, create)())
  atEnd(store.close())
  return store
}

/** A connection to the server of the run, or of a URL, with the rights of the owner. */
export const administrator = async (url?: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: (url ?? (await postgresUrl())).replace(/\?.*/, '') })
  client.on('error', () => undefined)
  await client.connect()
  atEnd(() => client.end())
  return client
}

/** A new role that may create schemas, with settings of its own. It is gone after the test. */
export const newRole = async (
  settings: readonly string[] = [],
  rights = 'CREATE',
): Promise<{ readonly role: string; readonly urlOf: (schema: string) => Promise<string> }> => {
  const admin = await administrator()
  const role = `r_${newSchema()}`
  await admin.query(`CREATE ROLE ${role} LOGIN`)
  if (rights !== '') await admin.query(`GRANT ${rights} ON DATABASE postgres TO ${role}`)
  for (const setting of settings) await admin.query(`ALTER ROLE ${role} SET ${setting}`)
  atEnd(async () => {
    const client = await administrator()
    await client.query(`DROP OWNED BY ${role} CASCADE`)
    await client.query(`DROP ROLE ${role}`)
  })
  return {
    role,
    urlOf: async (schema) => (await postgresUrl(schema)).replace(/\/\/[^@]*@/, `//${role}@`),
  }
}

/** Ends the sessions that hold a name, as the end of their connections does. */
export const endHolders = async (schema: string, name: string): Promise<void> => {
  const admin = await administrator()
  const key = BigInt.asUintN(64, BigInt(lockKey(schema, `name ${name}`)))
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = ${key >> 32n} AND objid = ${key & 0xffffffffn}`,
  )
}
