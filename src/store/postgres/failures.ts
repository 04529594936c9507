import type { StoreError } from '../errors.ts'
import { wrongIsolation } from './schema.ts'

/** SQLSTATE of an error of the server, or code of an error of the network; empty for any other value. */
export const codeOf = (error: unknown): string => {
  const code: unknown = Reflect.get(Object(error), 'code')
  return typeof code === 'string' ? code : ''
}

/** Returns the driver's description of an error, on one line. */
export const reasonOf = (error: unknown): string => {
  const message: unknown = Reflect.get(Object(error), 'message')
  const text = typeof message === 'string' && message !== '' ? message : codeOf(error) || String(error)
  return text.replaceAll(/\s+/g, ' ')
}

type FailureTag =
  | 'StoreBusy'
  | 'StoreCorrupt'
  | 'StoreDenied'
  | 'StoreFull'
  | 'StoreReadOnly'
  | 'StoreUnavailable'

const full = [
  'StoreFull',
  'the disk of the server is full: nothing was written; free some space and try again',
] as const

// SQLSTATEs (https://www.postgresql.org/docs/current/errcodes-appendix.html), by code or by class.
const tags: Readonly<Record<string, readonly [tag: FailureTag, advice: string]>> = {
  '25006': [
    'StoreReadOnly',
    'it accepts no writes: name the primary, and check default_transaction_read_only',
  ],
  '28': [
    'StoreDenied',
    'it refuses the credentials: name a role that may log in, in the URL or in PGUSER and PGPASSWORD',
  ],
  '3D000': ['StoreUnavailable', 'there is no such database: create it, or correct its name in the URL'],
  '3F000': ['StoreUnavailable', 'the schema is gone: open the store again to create it, or restore a dump'],
  '42501': [
    'StoreDenied',
    'the role lacks permissions: give it CREATE on the database, or, once the schema exists, USAGE on the schema and all rights to its tables',
  ],
  '42P01': ['StoreCorrupt', 'a table of the store is missing: restore a dump'],
  '42703': ['StoreCorrupt', 'the tables of the store were changed: restore a dump'],
  '42883': [
    'StoreCorrupt',
    'a function of the store is missing: upgrade palimpsest if a newer version has changed it, or restore a dump',
  ],
  '53100': full,
  '53': ['StoreUnavailable', 'the server lacks resources: raise its limits, or lower connections in the URL'],
  '55P03': [
    'StoreBusy',
    'another writer held the lock for too long: try again, or raise the timeout parameter',
  ],
  '40': ['StoreBusy', 'other transactions were in the way: try again'],
  '57014': [
    'StoreUnavailable',
    'the server stopped the statement: raise its statement_timeout, or try again',
  ],
  '57': ['StoreUnavailable', 'the server stops or starts: try again'],
  '58': ['StoreUnavailable', 'the server reports an error of its system: check its disk and its log'],
  XX: ['StoreUnavailable', 'the server reports an internal error: check its log'],
  XX001: ['StoreCorrupt', 'the server reports damaged data: check its log, and restore a dump'],
  XX002: ['StoreCorrupt', 'the server reports a damaged index: check its log, and run REINDEX'],
}

/** Functions of the server that make tables larger. A quota or a limit of file sizes has no SQLSTATE of its own. */
const extending: ReadonlySet<unknown> = new Set(['mdextend', 'mdzeroextend'])

/** Reports whether the connection failed rather than a statement on it, so that another attempt may succeed. */
export const isOfConnection = (error: unknown): boolean => {
  const code = codeOf(error)
  // An error of the server without a connection to it: it ends, has ended this session, or starts. Some timeouts end sessions.
  if (/^[0-9A-Z]{5}$/.test(code)) return code.startsWith('08') || /^(?:57P0[1235]|25P0[34])$/.test(code)
  // After a failover, the former primary may answer as a standby before the new one answers.
  const tag: unknown = Reflect.get(Object(error), '_tag')
  if (tag !== undefined) return tag === 'StoreReadOnly'
  return error instanceof Error && !(error instanceof TypeError || error instanceof RangeError)
}

/** Reports whether a statement failed because of its own texts, and not because of the server or of other statements. */
export const isOfStatement = (error: unknown): boolean => /^(?:22|23|54|21)/.test(codeOf(error))

/** Reports whether a function refused the isolation level of its transaction. */
export const isOfIsolation = (error: unknown): boolean => codeOf(error) === wrongIsolation

/** Converts an error of the driver to a store error. Returns store errors unchanged. */
export const storeError = (store: string, cause: unknown): StoreError => {
  if (typeof Reflect.get(Object(cause), '_tag') === 'string') return cause as StoreError
  const code = codeOf(cause)
  const isState = /^[0-9A-Z]{5}$/.test(code)
  const isFull = code === 'XX000' && extending.has(Reflect.get(Object(cause), 'routine'))
  const known = isFull ? full : isState ? (tags[code] ?? tags[code.slice(0, 2)]) : undefined
  if (known) return { _tag: known[0], message: `${store}: ${known[1]} (${reasonOf(cause)})`, store, cause }
  return isOfConnection(cause)
    ? unavailable(store, reasonOf(cause), cause)
    : { _tag: 'StoreUnavailable', message: `${store}: ${reasonOf(cause)}`, store, cause }
}

export const unavailable = (store: string, reason: string, cause?: unknown): StoreError => ({
  _tag: 'StoreUnavailable',
  message: `${store} does not answer (${reason}): check that the server runs and the URL's host, port and sslmode are right; run \`palimpsest doctor\` for details`,
  store,
  cause,
})

/** Returns the error of an attempt that was not answered in time; it counts as a connection failure. */
export const noAnswer = (ms: number): Error => new Error(`no answer within ${ms} ms`)
