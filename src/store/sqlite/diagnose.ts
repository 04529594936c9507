import { randomUUID } from 'node:crypto'
import { rmSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { bytesText, type Finding, finding, roundTrips, roundTripsText } from '../diagnosis.ts'
import { toError } from '../errors.ts'
import { storeError } from './errors.ts'
import { sqliteSettings, type SqliteSettings } from './open.ts'
import { currentVersion, versionOf } from './schema.ts'
import { openSqlite } from './store.ts'

const MiB = 1024 * 1024
/** Free room below which the next messages may not fit: an event has up to 16 MiB, and stands in the WAL too. */
const leastFree = 64 * MiB
const comfortableFree = 1024 * MiB
/** A WAL is taken over at some 4 MiB, unless a reader holds it open. */
const largeWal = 256 * MiB

/** Looks at an SQLite store without changing it; for the round trip it makes a scratch file beside it, and removes that. */
export const diagnoseSqlite =
  (url: string): TaskEither<InvalidInput, readonly Finding[]> =>
  async () => {
    const settings = sqliteSettings(url)
    if (E.isLeft(settings)) return settings
    const file = fileFinding(settings.right)
    if (file.status === 'problem') return E.right([file])
    const contents = contentFindings(settings.right)
    // Of what is no store, or is damaged, nothing else is worth knowing.
    if (contents.some(({ status }) => status === 'problem')) return E.right([file, ...contents])
    return E.right([
      file,
      ...contents,
      durability(settings.right),
      room(settings.right),
      wal(settings.right),
      await append(settings.right),
    ])
  }

const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size

const fileFinding = ({ path }: SqliteSettings): Finding => {
  const size = sizeOf(path)
  return size === undefined
    ? finding(
        'file',
        'problem',
        `there is no file ${path}: check the path; an import or an append creates the store`,
      )
    : finding('file', 'ok', `${path}, ${bytesText(size)}`)
}

/** What the database says of itself. */
const contentFindings = ({ url, path, timeout }: SqliteSettings): readonly Finding[] => {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout })
    const version = schema(db)
    return version.status === 'problem' ? [version] : [version, journal(db), integrity(db)]
  } catch (error) {
    return [finding('database', 'problem', storeError(url, error).message)]
  } finally {
    db?.close()
  }
}

const schema = (db: DatabaseSync): Finding => {
  const version = versionOf(db)
  if (version === 'foreign')
    return finding('schema', 'problem', 'the file is a database of another program: check the path')
  if (version > currentVersion)
    return finding(
      'schema',
      'problem',
      `version ${version}, this palimpsest knows ${currentVersion}: upgrade palimpsest`,
    )
  if (version < currentVersion)
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

const integrity = (db: DatabaseSync): Finding => {
  const problems = db
    .prepare('PRAGMA quick_check(3)')
    .all()
    .flatMap((row) => String(Object.values(row)[0]).split('\n'))
  return problems.length === 1 && problems[0] === 'ok'
    ? finding('integrity', 'ok', 'quick_check finds nothing; palimpsest verify checks every hash')
    : finding(
        'integrity',
        'problem',
        `the file is damaged (${problems.join('; ')}): restore it from a backup, or try the .recover command of sqlite3`,
      )
}

const durability = ({ synchronous }: SqliteSettings): Finding =>
  synchronous === 'full'
    ? finding('durability', 'ok', 'synchronous=full: an append that returned survives a power cut')
    : finding(
        'durability',
        'warning',
        `synchronous=${synchronous} in the URL: an append that returned may be lost in a power cut; leave the parameter out for a store that matters`,
      )

const room = ({ path }: SqliteSettings): Finding => {
  const { bavail, bsize } = statfsSync(dirname(path))
  const free = bavail * bsize
  const status = free < leastFree ? 'problem' : free < comfortableFree ? 'warning' : 'ok'
  return finding(
    'free room',
    status,
    bytesText(free) + (status === 'ok' ? '' : ': free some room on the disk'),
  )
}

const wal = ({ path }: SqliteSettings): Finding => {
  const size = sizeOf(`${path}-wal`) ?? 0
  return size < largeWal
    ? finding('WAL', 'ok', bytesText(size))
    : finding(
        'WAL',
        'warning',
        `${bytesText(size)}: some process has been reading for long, which keeps it from being taken over; end that process`,
      )
}

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
