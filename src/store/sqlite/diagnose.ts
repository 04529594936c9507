import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { conversationOf } from '../../events/ids.ts'
import { type Finding, finding, roundTrips, roundTripsText } from '../diagnosis.ts'
import { toError } from '../errors.ts'
import { holdsSecret, secretsFinding } from '../recorded-secrets.ts'
import { storeError } from './errors.ts'
import { fileFinding, oldWal, permissions, room, wal } from './files.ts'
import { damaged, integrityProblems } from './integrity.ts'
import { openFailure } from './open.ts'
import { currentVersion, unusable, versionOf } from './schema.ts'
import { sqliteSettings, type SqliteSettings } from './settings.ts'
import { openSqlite } from './store.ts'

/** Looks at an SQLite store without changing it; for the round trip it makes a scratch file beside it, and removes that. */
export const diagnoseSqlite =
  (url: string): TaskEither<InvalidInput, readonly Finding[]> =>
  async () => {
    const settings = sqliteSettings(url)
    if (E.isLeft(settings)) return settings
    const file = fileFinding(settings.right)
    if (file.status === 'problem') return E.right([file])
    const readable = permissions(settings.right)
    const contents = await contentFindings(settings.right)
    // Of what is no store, or is damaged, nothing else is worth knowing.
    if (contents.some(({ status }) => status === 'problem'))
      return E.right([file, ...contents, ...oldWal(settings.right)])
    return E.right([
      file,
      readable,
      ...contents,
      durability(settings.right),
      room(settings.right),
      wal(settings.right),
      secrets(settings.right),
      await append(settings.right),
    ])
  }

/** What the database says of itself. */
const contentFindings = async (settings: SqliteSettings): Promise<readonly Finding[]> => {
  const { url, path, timeout } = settings
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout })
    const version = schema(db, url)
    return version.status === 'problem' ? [version] : [version, journal(db), await integrity(settings)]
  } catch (error) {
    return [finding('database', 'problem', openFailure(settings, error).message)]
  } finally {
    db?.close()
  }
}

const schema = (db: DatabaseSync, url: string): Finding => {
  const version = versionOf(db)
  const refused = unusable(url, version)
  if (refused) return finding('schema', 'problem', refused.message)
  if (version === 0)
    return finding(
      'schema',
      'problem',
      'the database is empty: check the path; an import or an append creates the store',
    )
  if (version !== currentVersion)
    return finding(
      'schema',
      'warning',
      `version ${version}: the next command that opens the store brings it to ${currentVersion}; an older palimpsest cannot open it from then on`,
    )
  return finding('schema', 'ok', `version ${version}`)
}

const journal = (db: DatabaseSync): Finding => {
  const [mode] = Object.values(db.prepare('PRAGMA journal_mode').get() ?? {})
  return mode === 'wal'
    ? finding('journal mode', 'ok', 'wal')
    : finding(
        'journal mode',
        'warning',
        `${String(mode)}: another program has changed it; the next command that opens the store sets it to wal`,
      )
}

const integrity = async ({ url, path }: SqliteSettings): Promise<Finding> => {
  const problems = await integrityProblems(path)
  return problems.length === 0
    ? finding('integrity', 'ok', 'integrity_check finds nothing; palimpsest verify checks every hash')
    : finding('integrity', 'problem', damaged(url, problems).message)
}

const configurations = `SELECT s.name AS stream, e.data FROM events e JOIN streams s ON s.id = e.stream
  WHERE e.type = 'Configured' AND e.type <> 'MessageAppended'`

/** Looks for secrets in all configurations. */
const secrets = ({ url, path, timeout }: SqliteSettings): Finding => {
  let db: DatabaseSync | undefined
  const found = new Set<string>()
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout })
    for (const { stream, data } of db.prepare(configurations).iterate())
      if (holdsSecret(String(data))) found.add(conversationOf(String(stream)) ?? String(stream))
  } catch (error) {
    return finding('secrets', 'problem', storeError(url, error).message)
  } finally {
    db?.close()
  }
  return secretsFinding(found)
}

const durability = ({ synchronous }: SqliteSettings): Finding =>
  synchronous === 'full'
    ? finding('durability', 'ok', 'synchronous=full: an append that returned survives a power cut')
    : finding(
        'durability',
        'warning',
        `synchronous=${synchronous} in the URL: an append that returned may be lost in a power cut; leave the parameter out for a store that matters`,
      )

/** Times durable appends where the store is, yet not in it. */
const append = async ({ path, synchronous }: SqliteSettings): Promise<Finding> => {
  const check = 'round trip'
  const scratch = join(dirname(path), `palimpsest-doctor-${randomUUID()}.db`)
  const opened = await openSqlite(`sqlite:${scratch}?synchronous=${synchronous}`)()
  try {
    if (E.isLeft(opened)) return finding(check, 'problem', opened.left.message)
    const store = opened.right
    let expected = -1
    const times = await roundTrips(async () => {
      const event = { id: randomUUID(), type: 'Scratch', data: '{}', metadata: '{}' }
      const appended = await store.append({ stream: 'scratch', events: [event], expected: expected++ })()
      if (E.isLeft(appended)) throw toError(appended.left)
    })
    await store.close()()
    return finding(check, 'ok', `an append: ${roundTripsText(times)}`)
  } catch (error) {
    return finding(check, 'problem', `nothing can be written beside the store: ${String(error)}`)
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(scratch + suffix, { force: true })
  }
}
