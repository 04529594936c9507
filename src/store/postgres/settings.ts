import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'

/** Address of a server. */
export interface ServerAddress {
  /** Name or address; a folder, beginning with a slash, for a Unix socket. */
  readonly host: string
  readonly port: number
}

const channelBindings = ['disable', 'prefer', 'require'] as const
export type ChannelBinding = (typeof channelBindings)[number]

/** Settings in a `postgres:` URL. */
export interface PostgresSettings {
  /** URL of the store without credentials, for messages. */
  readonly url: string
  /** Servers to try in this order; a standby is skipped. */
  readonly servers: readonly ServerAddress[]
  readonly database: string | undefined
  /** Role and password; if undefined, the driver takes PGUSER, PGPASSWORD and the password file. */
  readonly user: string | undefined
  readonly password: string | undefined
  readonly ssl: false | ConnectionOptions
  /** Binding of the login to the TLS connection, without which somebody in between could pass the login on. */
  readonly channelBinding: ChannelBinding
  /** Schema that contains the store's tables and functions. */
  readonly schema: string
  /** Maximum number of connections for reads and blobs; appends, followers and liveness use one each in addition. */
  readonly connections: number
  /** Maximum time to wait for another writer's lock, in milliseconds. */
  readonly timeout: number
  /** Maximum duration of one attempt, in milliseconds. */
  readonly attempt: number
  /** Maximum duration of all attempts together, in milliseconds. */
  readonly patience: number
}

const example = 'postgres://user:password@host:5432/database'
const defaultPort = 5432
const numbers = { connections: 8, timeout: 10_000, attempt: 5_000, patience: 20_000 } as const
const parameterNames = ['schema', 'sslmode', 'sslrootcert', 'channel_binding', ...Object.keys(numbers)]
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']
/** Parameters of other programs, as providers write them into URLs, with the values that hold here in any case. */
const others: ReadonlyMap<string, readonly string[]> = new Map([
  ['target_session_attrs', ['read-write', 'primary', 'any']],
  ['pgbouncer', ['true', 'false']],
  ['uselibpqcompat', ['true', 'false']],
])
/** Advice on other parameters of other programs. */
const advice: ReadonlyMap<string, string> = new Map([
  ['connection_limit', 'write connections'],
  ['connect_timeout', 'write attempt, in milliseconds'],
  ['options', 'leave it out, and give settings to the role (ALTER ROLE … SET)'],
])
// A timer fires at once if its milliseconds overflow.
const wholeNumber = /^[1-9]\d{0,8}$/
/** Short enough for the names of channels, which contain the schema's. */
const schemaName = /^[a-z_][a-z0-9_]{0,39}$/

/** Reports whether a URL is one of a PostgreSQL database. */
const urlPattern = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^@/?]+)(?:\/([^/?]*))?(?:\?(.*))?$/
const hostPattern = /^(\[[^\]]+\]|%2F[^[\]:]*|[^[\]:%]+)(?::(\d{1,5}))?$/i

/**
 * Parses a URL such as `postgres://user:password@host:5432/database?schema=palimpsest`. Several hosts, separated by commas, are tried in
 * turn; a host such as `%2Fvar%2Frun%2Fpostgresql` is a folder with a Unix socket. Parameters: `schema` (default `palimpsest`), `sslmode` (`disable`, the default, `require`, `verify-ca` or `verify-full`),
 * `sslrootcert` (a file), `channel_binding` (`disable`, the default, `prefer` or `require`), `connections`, and in milliseconds `timeout`, `attempt` and `patience`.
 *
 * The error does not repeat the contents of an invalid URL, which may include a password.
 */
export const postgresSettings = (given: string): E.Either<InvalidInput, PostgresSettings> => {
  // Checked first, because a message about any part of the URL might then show a part of the password.
  if (/[@/?]/.test(given.slice(given.indexOf('//') + 2, Math.max(0, given.lastIndexOf('@')))))
    return wrong('an @, / or ? in a user name, password or parameter must be written as %40, %2F or %3F')
  const [, userinfo, hosts, name = '', query = ''] = urlPattern.exec(given) ?? []
  if (hosts === undefined) return wrong(`write it like ${example}`)
  const parameters = new URLSearchParams(query.replaceAll('+', '%2B'))
  const problem = parameterProblem(parameters)
  if (problem !== undefined) return wrong(problem)
  const ssl = sslOf(parameters)
  if (E.isLeft(ssl)) return ssl
  try {
    const servers = hosts.split(',').map(serverIn)
    const known = servers.filter((server) => server !== undefined)
    if (known.length < servers.length)
      return wrong(`a host must be a name with an optional port from 1 to 65535: write it like ${example}`)
    const colon = userinfo?.indexOf(':') ?? -1
    const user = colon < 0 ? userinfo : userinfo?.slice(0, colon)
    const database = decodeURIComponent(name)
    const schema = parameters.get('schema') ?? 'palimpsest'
    return E.right({
      url: `postgres://${hosts}/${name}${schema === 'palimpsest' ? '' : `?schema=${schema}`}`,
      servers: known,
      database: database === '' ? undefined : database,
      user: user ? decodeURIComponent(user) : undefined,
      password:
        colon < 0 || userinfo === undefined ? undefined : decodeURIComponent(userinfo.slice(colon + 1)),
      ssl: ssl.right,
      channelBinding: channelBindings.find((way) => way === parameters.get('channel_binding')) ?? 'disable',
      schema,
      connections: numberOf(parameters, 'connections'),
      timeout: numberOf(parameters, 'timeout'),
      attempt: numberOf(parameters, 'attempt'),
      patience: numberOf(parameters, 'patience'),
    })
  } catch {
    return wrong('it contains a % that does not begin an encoded character: write it as %25')
  }
}

const wrong = (problem: string): E.Either<InvalidInput, never> => E.left(invalidInput('url', problem))

const numberOf = (parameters: URLSearchParams, name: keyof typeof numbers): number =>
  Number(parameters.get(name) ?? numbers[name])

const serverIn = (text: string): ServerAddress | undefined => {
  const [, host, digits = String(defaultPort)] = hostPattern.exec(text) ?? []
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535
    ? undefined
    : { host: decodeURIComponent(host.replaceAll(/[[\]]/g, '')), port }
}

const parameterProblem = (parameters: URLSearchParams): string | undefined => {
  for (const [name, value] of parameters) {
    const allowed = others.get(name)
    if (allowed?.includes(value)) continue
    if (allowed) return `${name} must be one of ${allowed.join(', ')}`
    const instead = advice.get(name)
    if (instead !== undefined) return `unknown parameter ${name}: ${instead}`
    if (!parameterNames.includes(name))
      return `unknown parameter ${name}; expected one of ${[...parameterNames, 'seal'].join(', ')}`
    if (parameters.getAll(name).length > 1) return `${name} is given twice`
    if (name in numbers && !wholeNumber.test(value))
      return `${name} must be a whole number from 1 to 999999999`
    if (name === 'sslmode' && !sslModes.includes(value) && value !== 'no-verify')
      return `sslmode must be one of ${sslModes.join(', ')}`
    if (name === 'channel_binding' && !channelBindings.some((way) => way === value))
      return `channel_binding must be one of ${channelBindings.join(', ')}`
    if (name === 'schema' && !schemaName.test(value))
      return 'schema must be a name of at most 40 characters a–z 0–9 _, beginning with a letter or _'
  }
  return undefined
}

const sslOf = (parameters: URLSearchParams): E.Either<InvalidInput, false | ConnectionOptions> => {
  const mode = parameters.get('sslmode') ?? 'disable'
  const file = parameters.get('sslrootcert')
  if (mode === 'disable') {
    if (file !== null) return wrong('sslrootcert needs sslmode=verify-ca or verify-full')
    return parameters.get('channel_binding') === 'require'
      ? wrong('channel_binding=require needs sslmode=require, verify-ca or verify-full')
      : E.right(false)
  }
  // The driver's own name for it is no-verify.
  if (mode === 'require' || mode === 'no-verify') return E.right({ rejectUnauthorized: false })
  try {
    return E.right({
      ...(file !== null && { ca: readFileSync(file, 'utf8') }),
      ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    })
  } catch {
    return wrong('sslrootcert names a file that cannot be read')
  }
}

/**
 * Returns the key of an advisory lock: a signed 64-bit number as text. Keys of different stores in one database differ, because the
 * server knows a lock by its number only.
 */
export const lockKey = (schema: string, purpose: string): string =>
  createHash('sha256').update(`palimpsest ${schema} ${purpose}`).digest().readBigInt64BE().toString()
