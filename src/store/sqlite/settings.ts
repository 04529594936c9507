import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'

/** The settings in a `sqlite:` URL. */
export interface SqliteSettings {
  /** URL for messages: `sqlite:` and the path as given. */
  readonly url: string
  /** Absolute path, which names the same file even after the process changes its directory. */
  readonly path: string
  /**
   * Durability of an append that has returned: the append survives a power cut (`full`), or only the end of the process (`normal`,
   * `off`).
   */
  readonly synchronous: 'full' | 'normal' | 'off'
  /** Maximum time to wait for another process's lock, in milliseconds. */
  readonly timeout: number
}

const defaultTimeout = 5_000
/** Maximum timeout in milliseconds, because SQLite takes a C int. */
const longestTimeout = 2 ** 31 - 1

/**
 * Parses a URL such as `sqlite:path/to/file.db?synchronous=full|normal|off&timeout=5000`. In the path, `%3F` is a question mark and
 * `%25` a percent sign. The error does not repeat the contents of an invalid URL, which may include a password.
 */
export const sqliteSettings = (url: string): E.Either<InvalidInput, SqliteSettings> => {
  const [name = '', query = ''] = url.slice('sqlite:'.length).split('?', 2)
  const parameters = new URLSearchParams(query)
  const synchronous = parameters.get('synchronous') ?? 'full'
  const timeout = parameters.get('timeout') ?? String(defaultTimeout)
  const unknown = [...parameters.keys()].find((key) => key !== 'synchronous' && key !== 'timeout')
  const problem = problemOf(name)
  if (problem !== undefined) return E.left(invalidInput('url', problem))
  if (unknown !== undefined)
    return E.left(invalidInput('url', `unknown parameter ${unknown}; expected synchronous, timeout or seal`))
  if (synchronous !== 'full' && synchronous !== 'normal' && synchronous !== 'off')
    return E.left(invalidInput('url', 'synchronous must be full, normal or off'))
  if (!/^\d{1,10}$/.test(timeout) || Number(timeout) > longestTimeout)
    return E.left(
      invalidInput('url', `timeout must be a whole number of milliseconds, from 0 to ${longestTimeout}`),
    )
  return E.right({
    url: `sqlite:${name}`,
    path: resolve(decodePath(name)),
    synchronous,
    timeout: Number(timeout),
  })
}

/**
 * Decodes the path in a URL. A question mark would end the path, so it is written as `%3F`, and a percent sign as `%25`; all other
 * characters stand for themselves.
 */
export const decodePath = (name: string): string => name.replaceAll(/%3f/gi, '?').replaceAll('%25', '%')

const problemOf = (name: string): string | undefined => {
  if (name === '') return 'name a file: sqlite:path/to/file.db'
  if (name === ':memory:') return 'a store in memory is memory:, not sqlite::memory:'
  if (name.startsWith('file:')) return 'write a path: sqlite:path/to/file.db'
  if (name.includes('\0')) return 'a path cannot contain the character NUL'
  // sqlite://user:password@host is a URL of another program.
  if (/^\/\/[^/]*[:@%]/.test(name)) return 'a file has no host, user or password: sqlite:path/to/file.db'
  if (/^\/\/[^/]+$/.test(name)) return 'write a path without //: sqlite:s.db, or sqlite:/path/to/s.db'
  return undefined
}
