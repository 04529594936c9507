import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { unwrap, orThrow, type Fallible, task } from '../../result/fallible.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { archivedIn, conversationOf, notedIn } from '../../events/ids.ts'
import { type DiagnosisFinding, findingOf, roundTrips, roundTripsText } from '../diagnosis.ts'
import { holdsSecret, secretsFinding } from '../recorded-secrets.ts'
import { markStart } from '../marks.ts'
import type { WritePart } from '../port.ts'
import { storeError } from './errors.ts'
import { fileFinding, network, oldWal, permissions, room, wal } from './files.ts'
import { checkColumns, markAll, notAsWritten } from './columns.ts'
import { damagedError, integrityProblems } from './integrity.ts'
import { openFailure } from './open.ts'
import { tablesVersion, unusable, versionOf } from './schema.ts'
import { sqliteSettings, type SqliteSettings } from './settings.ts'
import { openSqlite } from './store.ts'

/** Examines an SQLite store without changing it. To time appends, creates a scratch file next to the store and removes it again. */
export const diagnoseSqlite = (url: string): TaskEither<InvalidInput, readonly DiagnosisFinding[]> =>
  task(async function* (): Fallible<InvalidInput, readonly DiagnosisFinding[]> {
    const settings = yield* unwrap(sqliteSettings(url))
    const file = fileFinding(settings)
    if (file.status === 'problem') return [file]
    const readable = permissions(settings)
    const contents = await contentFindings(settings)
    // If the file is not a store, or is damaged, no other check is useful; a full disk may be why it cannot be opened.
    if (contents.some(({ status }) => status === 'problem'))
      return [
        file,
        ...network(settings),
        ...contents,
        ...[room(settings)].filter(({ status }) => status !== 'ok'),
        ...oldWal(settings),
      ]
    return [
      file,
      ...network(settings),
      readable,
      ...contents,
      await columns(settings),
      durability(settings),
      room(settings),
      wal(settings),
      secrets(settings),
      imports(settings),
      await append(settings),
    ]
  })

/** Checks the content of the database. */
const contentFindings = async (settings: SqliteSettings): Promise<readonly DiagnosisFinding[]> => {
  const { url, path, timeout } = settings
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout })
    const version = schema(db, url)
    if (version.status === 'problem') return [version]
    return [version, journal(db), await integrity(settings)]
  } catch (error) {
    return [findingOf('database', 'problem', openFailure(settings, error).message)]
  } finally {
    db?.close()
  }
}

const schema = (db: DatabaseSync, url: string): DiagnosisFinding => {
  const version = versionOf(db)
  const refused = unusable(url, version)
  if (refused) return findingOf('schema', 'problem', refused.message)
  if (version === 0)
    return findingOf(
      'schema',
      'problem',
      'the database is empty: check the path; an import or an append creates the store',
    )
  if (Number(version) < tablesVersion)
    return findingOf(
      'schema',
      'warning',
      `version ${version}: the next command that opens the store upgrades it; an older palimpsest cannot open it afterwards`,
    )
  return findingOf('schema', 'ok', `version ${version}`)
}

const journal = (db: DatabaseSync): DiagnosisFinding => {
  const [mode] = Object.values(db.prepare('PRAGMA journal_mode').get() ?? {})
  return mode === 'wal'
    ? findingOf('journal mode', 'ok', 'wal')
    : findingOf(
        'journal mode',
        'warning',
        `${String(mode)}: another program has changed it; the next command that opens the store sets it to wal`,
      )
}

const integrity = async ({ url, path }: SqliteSettings): Promise<DiagnosisFinding> => {
  const problems = await integrityProblems(path)
  return problems.length === 0
    ? findingOf(
        'integrity',
        'ok',
        'integrity_check finds nothing; whether conversations can be read and are unchanged, palimpsest verify checks',
      )
    : findingOf('integrity', 'problem', damagedError(url, problems).message)
}

const columns = async ({ url, path }: SqliteSettings): Promise<DiagnosisFinding> => {
  const checked = await checkColumns(path, true).catch((error: unknown) => storeError(url, error))
  if ('_tag' in checked) return findingOf('columns', 'problem', checked.message)
  const { looked, problems, unmarked } = checked
  if (problems.length > 0)
    return findingOf(
      'columns',
      'problem',
      `${notAsWritten({ url, path }, problems).message} (checked ${looked})`,
    )
  return unmarked > 0
    ? findingOf(
        'columns',
        'warning',
        `${unmarked} events of commands with an id are missing from the index by id, as they are after a JSONL import by version 0.1.0: if one of these commands is repeated, its events are recorded a second time; to repair this: ${markAll(path)} (checked ${looked})`,
      )
    : findingOf('columns', 'ok', `columns match the events in ${looked}; palimpsest verify checks all`)
}

const configurations = `SELECT s.name AS stream, e.data FROM events e JOIN streams s ON s.id = e.stream
  WHERE e.type = 'Configured' AND e.type <> 'MessageAppended'`

/** Opens the database for a check that only reads it. */
const reading = (
  { url, path, timeout }: SqliteSettings,
  check: string,
  look: (db: DatabaseSync) => DiagnosisFinding,
): DiagnosisFinding => {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout })
    return look(db)
  } catch (error) {
    return findingOf(check, 'problem', storeError(url, error).message)
  } finally {
    db?.close()
  }
}

/** Searches all `Configured` events for secrets. */
const secrets = (settings: SqliteSettings): DiagnosisFinding =>
  reading(settings, 'secrets', (db) => {
    const found = new Set<string>()
    for (const { stream, data } of db.prepare(configurations).iterate())
      if (holdsSecret(String(data))) found.add(conversationOf(String(stream)) ?? String(stream))
    return secretsFinding(found)
  })

const marked = `SELECT s.name AS stream, e.metadata FROM streams s JOIN events e
    ON e.stream = s.id AND e.revision = (SELECT max(revision) FROM events WHERE stream = s.id)
  WHERE e.metadata >= '${markStart}' AND e.metadata < '{%'`

/** Looks for imports and copies that were interrupted: their events are stored, but nothing shows them. */
const imports = (settings: SqliteSettings): DiagnosisFinding =>
  reading(settings, 'imports', (db) => {
    const found = new Set<string>()
    const named = db.prepare('SELECT 1 FROM streams WHERE name = ?')
    for (const { stream, metadata } of db.prepare(marked).iterate()) {
      const { $part: part } = JSON.parse(String(metadata)) as { readonly $part?: WritePart }
      const isWhole = typeof part?.last === 'string' ? named.get(part.last) !== undefined : part?.last
      if (part && isWhole !== true) found.add(idIn(String(stream)))
    }
    return importsFinding([...found])
  })

const importsFinding = (ids: readonly string[]): DiagnosisFinding => {
  if (ids.length === 0) return findingOf('imports', 'ok', 'no import is unfinished')
  const more = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : ''
  return findingOf(
    'imports',
    'warning',
    `an import or copy of ${ids.slice(0, mostNamed).join(', ')}${more} is in progress or was interrupted: run it again; if its file is gone, copy the store to a new one, which leaves its events out`,
  )
}
const mostNamed = 10
const idIn = (stream: string): string =>
  conversationOf(stream) ?? notedIn(stream) ?? archivedIn(stream) ?? stream

const durability = ({ synchronous }: SqliteSettings): DiagnosisFinding =>
  synchronous === 'full'
    ? findingOf('durability', 'ok', 'synchronous=full: an append that returned survives a power cut')
    : findingOf(
        'durability',
        'warning',
        `synchronous=${synchronous} in the URL: an append that returned may be lost in a power cut; omit the parameter for a store that matters`,
      )

/** Measures the time of durable appends to a scratch store next to the store. */
const append = async ({ path, synchronous }: SqliteSettings): Promise<DiagnosisFinding> => {
  const check = 'round trip'
  const scratch = join(dirname(path), `palimpsest-doctor-${randomUUID()}.db`)
  try {
    const store = await orThrow(openSqlite(`sqlite:${scratch}?synchronous=${synchronous}`))
    let expected = -1
    const times = await roundTrips(async () => {
      const event = { id: randomUUID(), type: 'Scratch', data: '{}', metadata: '{}' }
      await orThrow(store.append({ stream: 'scratch', events: [event], expected: expected++ }))
    })
    await store.close()()
    return findingOf(check, 'ok', `an append to another file beside the store: ${roundTripsText(times)}`)
  } catch (error) {
    return findingOf(check, 'problem', `no file can be written beside the store: ${String(error)}`)
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(scratch + suffix, { force: true })
  }
}
