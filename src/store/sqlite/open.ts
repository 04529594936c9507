import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { StoreError } from '../errors.ts'
import { storeError } from './errors.ts'
import { currentVersion, migrate, versionOf } from './schema.ts'

/** What a `sqlite:` URL asks for. */
export interface SqliteSettings {
  /** For messages: `sqlite:` and the path. */
  readonly url: string
  readonly path: string
  /** When an append returns, it survives the machine's power (`full`), or only the process (`normal`, `off`). */
  readonly synchronous: 'full' | 'normal' | 'off'
  /** How long to wait for another process's lock, in milliseconds. */
  readonly timeout: number
}

const defaultTimeout = 5_000

/** Reads `sqlite:path/to/file.db?synchronous=full|normal|off&timeout=5000`. */
export const sqliteSettings = (url: string): E.Either<InvalidInput, SqliteSettings> => {
  const [path = '', query = ''] = url.slice('sqlite:'.length).split('?', 2)
  const parameters = new URLSearchParams(query)
  const synchronous = parameters.get('synchronous') ?? 'full'
  const timeout = Number(parameters.get('timeout') ?? defaultTimeout)
  const unknown = [...parameters.keys()].find((name) => name !== 'synchronous' && name !== 'timeout')
  if (path === '') return E.left(invalidInput('url', 'name a file: sqlite:path/to/file.db'))
  if (unknown !== undefined)
    return E.left(invalidInput('url', `unknown parameter ${unknown}; there are synchronous and timeout`))
  if (synchronous !== 'full' && synchronous !== 'normal' && synchronous !== 'off')
    return E.left(invalidInput('url', `synchronous is full, normal or off, not ${synchronous}`))
  if (!Number.isInteger(timeout) || timeout < 0)
    return E.left(invalidInput('url', 'timeout is a whole number of milliseconds'))
  return E.right({ url: `sqlite:${path}`, path, synchronous, timeout })
}

/**
 * Opens the file and brings its schema to the newest version.
 *
 * @param create make the file if it is not there; else that is `StoreNotFound`
 */
export const openDatabase = async (
  settings: SqliteSettings,
  create: boolean,
): Promise<E.Either<StoreError, DatabaseSync>> => {
  if (!create && !existsSync(settings.path)) return E.left(notFound(settings.url))
  const deadline = Date.now() + settings.timeout
  for (;;) {
    const opened = tryOpen(settings)
    if (E.isRight(opened)) return opened
    // Several processes that create the file at once: SQLite reports some of those collisions without waiting.
    if (opened.left._tag !== 'StoreBusy' || Date.now() > deadline) return opened
    await sleep(5 + Math.random() * 20)
  }
}

const tryOpen = (settings: SqliteSettings): E.Either<StoreError, DatabaseSync> => {
  const { url, path, synchronous, timeout } = settings
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { timeout })
    const version = versionOf(db)
    const refused = version === 'foreign' || version > currentVersion ? unusable(url, version) : undefined
    if (refused) {
      db.close()
      return E.left(refused)
    }
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
    if (version !== currentVersion) migrate(db)
    // From here on waiting is done without blocking the process.
    db.exec('PRAGMA busy_timeout = 0')
    return E.right(db)
  } catch (error) {
    db?.close()
    return E.left(isUnwritable(path) ? readOnly(url, error) : storeError(url, error))
  }
}

/** Whether the file is there and cannot be written, or files cannot be made beside it. SQLite calls that "unable to open". */
const isUnwritable = (path: string): boolean => {
  if (!existsSync(path)) return false
  try {
    accessSync(path, constants.W_OK)
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch {
    return true
  }
}

const notFound = (store: string): StoreError => ({
  _tag: 'StoreNotFound',
  message: `there is no store at ${store}: check the path, or import a session first`,
  store,
})

const readOnly = (store: string, cause: unknown): StoreError => ({
  _tag: 'StoreReadOnly',
  message: `${store} cannot be written: give this user the right to write the file and its folder, or copy it elsewhere`,
  store,
  cause,
})

const unusable = (store: string, version: number | 'foreign'): StoreError =>
  version === 'foreign'
    ? {
        _tag: 'StoreCorrupt',
        message: `${store} is an SQLite database of another program: check the path`,
        store,
      }
    : {
        _tag: 'StoreTooNew',
        message: `${store} has schema version ${version}, this palimpsest knows ${currentVersion}: upgrade palimpsest`,
        store,
      }
