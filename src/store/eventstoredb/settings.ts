import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { longestTimer } from '../../result/timers.ts'

export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Settings in an `esdb:` or `esdb+discover:` URL. */
export interface ConnectionSettings {
  /** URL of the store without credentials and parameters, for messages. */
  readonly url: string
  /** Connection string for the client library, without credentials, so that the library's output cannot reveal them. */
  readonly connectionString: string
  readonly credentials: Credentials | undefined
  /** Maximum duration of one attempt, in milliseconds. */
  readonly attempt: number
  /** Maximum duration of all attempts together, in milliseconds. */
  readonly patience: number
  /** Time to wait for a cluster node before trying another one, in milliseconds; undefined if only one node is named. */
  readonly nodePatience: number | undefined
  /** Maximum number of bytes that the server accepts in one append. */
  readonly maxAppendBytes: number
}

/** Pattern of a host name, an IPv4 address, or an IPv6 address in brackets, with an optional port. */
const hostPattern = /^(?:\[[^\]]+\]|[^[\]:%]+)(?::\d+)?$/

/** Parameters defined here, which are not passed to the client library. */
const own = ['maxAppendBytes', 'patience']
// The parameters of the client library that apply here. The library would warn about any other, printing the whole URL.
const clients = [
  'tls',
  'tlsCAFile',
  'userCertFile',
  'userKeyFile',
  'nodePreference',
  'maxDiscoverAttempts',
  'discoveryInterval',
  'gossipTimeout',
  'keepAliveInterval',
  'keepAliveTimeout',
  'connectionName',
  'defaultDeadline',
]
const numbers = new Set([
  ...own,
  'defaultDeadline',
  'maxDiscoverAttempts',
  'discoveryInterval',
  'gossipTimeout',
])
// A timer fires at once if its milliseconds overflow.
const wholeNumber = /^[1-9]\d{0,8}$/

const defaultAttempt = 5_000
/**
 * Default time for a node to name the leader and for the leader to answer, in seconds. It is short so that a frozen node leaves time to
 * try the other nodes.
 */
const gossipTimeout = 1
/** Number of attempts that fit into the default `patience`. */
const attempts = 4
/** Maximum number of bytes per append that a server counts in addition to data and metadata. */
export const appendMargin = 16 * 1024
const defaultMaxAppendBytes = 1024 * 1024 - appendMargin

/**
 * Parses a URL such as `esdb://user:password@host:2113?tls=true`. Parameters: those of the client (`tls`, `tlsCAFile`, `userCertFile`,
 * `userKeyFile`, `nodePreference`, …), including `defaultDeadline`, the time for one attempt (ms, default 5,000); `patience`, the time
 * for all attempts (ms, default four times `defaultDeadline`); `maxAppendBytes`, the server's limit.
 *
 * `kurrentdb:` and `kurrentdb+discover:`, the newer names of the schemes, mean the same.
 *
 * @param environment source of credentials missing from the URL: PALIMPSEST_ESDB_USER, PALIMPSEST_ESDB_PASSWORD
 */
export const esdbSettings = (
  given: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): E.Either<InvalidInput, ConnectionSettings> => {
  // The client knows the database by its former name only.
  const url = given.replace(/^kurrentdb(?=:|\+discover:)/, 'esdb')
  // Checked first, because a message about any part of the URL might then show a part of the password.
  if (/[@/?]/.test(url.slice(url.indexOf('//') + 2, Math.max(0, url.lastIndexOf('@')))))
    return E.left(
      invalidInput(
        'url',
        'an @, / or ? in a user name, password or parameter must be written as %40, %2F or %3F',
      ),
    )
  const match = /^(esdb(?:\+discover)?:\/\/)(?:([^@/?]*)@)?([^@/?]+)\/?(?:\?(.*))?$/.exec(url)
  const [, scheme, userinfo, hosts, query = ''] = match ?? []
  if (scheme === undefined || hosts === undefined)
    return E.left(invalidInput('url', 'write it like esdb://user:password@host:2113?tls=true'))
  // The host is not repeated in the message: if the @ is missing or encoded, a password looks like a host.
  if (!hosts.split(',').every((host) => hostPattern.test(host)))
    return E.left(
      invalidInput(
        'url',
        'a host must be a name with an optional port number: write it like esdb://user:password@host:2113?tls=true',
      ),
    )
  const badPort = hosts.split(',').find((host) => /:\d+$/.test(host) && !isPort(host))
  if (badPort !== undefined)
    return E.left(
      invalidInput(
        'url',
        `a port must be a number from 1 to 65535${userinfo === undefined ? '' : `: ${badPort}`}`,
      ),
    )
  const credentials = credentialsIn(userinfo, environment)
  if (E.isLeft(credentials)) return credentials
  // A + is a literal plus: only HTML forms encode a space that way.
  const parameters = new URLSearchParams(query.replaceAll('+', '%2B'))
  for (const [name, value] of parameters) {
    if (!own.includes(name) && !clients.includes(name))
      return E.left(
        invalidInput(
          'url',
          `unknown parameter ${name}; expected one of ${[...clients, ...own, 'seal'].join(', ')}`,
        ),
      )
    if (parameters.getAll(name).length > 1) return E.left(invalidInput('url', `${name} is given twice`))
    if (numbers.has(name) && !wholeNumber.test(value))
      return E.left(invalidInput('url', `${name} must be a whole number from 1 to 999999999`))
  }
  const tls = parameters.get('tls') ?? 'true'
  if (tls !== 'true' && tls !== 'false') return E.left(invalidInput('url', 'tls must be true or false'))
  const attempt = Number(parameters.get('defaultDeadline') ?? defaultAttempt)
  const patience = Number(parameters.get('patience') ?? attempts * attempt)
  const maxAppendBytes = Number(parameters.get('maxAppendBytes') ?? defaultMaxAppendBytes)
  for (const name of own) parameters.delete(name)
  const isCluster = hosts.includes(',') || scheme.includes('discover')
  if (isCluster && !parameters.has('gossipTimeout')) parameters.set('gossipTimeout', String(gossipTimeout))
  const forClient = [...parameters].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  return E.right({
    url: `${scheme}${hosts}`,
    connectionString: `${scheme}${hosts}${forClient && `?${forClient}`}`,
    credentials: credentials.right,
    attempt,
    patience,
    nodePatience: isCluster
      ? Math.min(Number(parameters.get('gossipTimeout')) * 1_000, longestTimer)
      : undefined,
    maxAppendBytes,
  })
}

const isPort = (host: string): boolean => {
  const port = Number(host.slice(host.lastIndexOf(':') + 1))
  return port >= 1 && port <= 65_535
}

const credentialsIn = (
  userinfo: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): E.Either<InvalidInput, Credentials | undefined> => {
  const { PALIMPSEST_ESDB_USER: user, PALIMPSEST_ESDB_PASSWORD: secret } = environment
  if (userinfo === undefined) return E.right(!user ? undefined : { username: user, password: secret ?? '' })
  const colon = userinfo.indexOf(':')
  try {
    const username = decodeURIComponent(colon < 0 ? userinfo : userinfo.slice(0, colon))
    const password = colon < 0 ? (secret ?? '') : decodeURIComponent(userinfo.slice(colon + 1))
    return E.right({ username, password })
  } catch {
    return E.left(
      invalidInput(
        'url',
        'the user name or password contains a % that does not begin an encoded character: write it as %25',
      ),
    )
  }
}
