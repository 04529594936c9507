import { readFileSync } from 'node:fs'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'

/** A node as named in a URL, with the settings for connecting to it. */
export interface Address {
  readonly host: string
  readonly port: number
  readonly hasTls: boolean
  /** Path of a file with certificates of trusted authorities. */
  readonly authorities: string | undefined
}

const defaultPort = 2113

/** Returns the addresses of the nodes named in a connection string. */
export const addressesIn = (connectionString: string): readonly Address[] => {
  const [, hosts = '', query = ''] = /^\S+?:\/\/([^/?]+)\/?\??(.*)$/.exec(connectionString) ?? []
  const parameters = new URLSearchParams(query)
  const hasTls = parameters.get('tls') !== 'false'
  const authorities = parameters.get('tlsCAFile') ?? undefined
  return hosts.split(',').map((text) => {
    const [, host = '', port = defaultPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(text) ?? []
    return { host, port: Number(port), hasTls, authorities }
  })
}

/** Returns the reason why a node cannot be reached, and what to do; undefined if it can be reached. */
export const probe = async (address: Address, patience: number): Promise<string | undefined> => {
  const { hasTls, authorities } = address
  if (hasTls) {
    const ca = authorities === undefined ? undefined : readAuthorities(authorities)
    if (ca instanceof Error)
      return `the file that tlsCAFile names cannot be read (${ca.message}): correct its path`
    const { code, message } = await failureOf(secured(address, { ...(ca && { ca }) }), patience)
    return code === undefined ? undefined : (problems[code] ?? `TLS fails (${message})`)
  }
  const { code, message } = await failureOf(connectTcp({ host: address.host, port: address.port }), patience)
  if (code !== undefined) return problems[code] ?? message
  // A server with TLS answers a TLS greeting, even with an untrusted certificate; a server without TLS hangs up or waits.
  const greeted = await failureOf(secured(address, { rejectUnauthorized: false }), greetingPatience)
  if (greeted.code === undefined) return 'the server speaks TLS: remove tls=false from the URL'
  return (await isSilent(address)) ? silent : undefined
}

/** Reports whether a node accepts connections but sends nothing. The operating system accepts connections even for a frozen process. */
const isSilent = ({ host, port }: Address): Promise<boolean> =>
  new Promise((resolve) => {
    const session = connectHttp2(`http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`)
    const settle = (answer: boolean): void => {
      clearTimeout(timer)
      session.destroy()
      resolve(answer)
    }
    const timer = setTimeout(() => settle(true), greetingPatience * 2)
    session.once('remoteSettings', () => settle(false))
    session.on('error', () => settle(false))
    session.once('close', () => settle(false))
  })

const silent =
  'it accepts connections but does not answer: the process is frozen, overloaded, or not an EventStoreDB'

/** Time to wait for an answer to a greeting that the server will probably not answer, in milliseconds. */
const greetingPatience = 500

const secured = ({ host, port }: Address, trust: ConnectionOptions): Socket =>
  connectTls({ host, port, ...trust, ALPNProtocols: ['h2'], ...(isIP(host) === 0 && { servername: host }) })

const readAuthorities = (file: string): Buffer | Error => {
  try {
    return readFileSync(file)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

interface Failure {
  /** Error code from Node or OpenSSL; undefined on success. */
  readonly code?: string
  readonly message?: string
}

const failureOf = (socket: Socket, patience: number): Promise<Failure> =>
  new Promise((resolve) => {
    const settle = (failure: Failure): void => {
      resolve(failure)
      socket.destroy()
    }
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => settle({}))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      settle({ code: error.code ?? 'unknown', message: error.message }),
    )
    socket.once('close', () => settle({ code: 'ECONNRESET', message: 'the connection was closed' }))
    let isConnected = false
    socket.once('connect', () => (isConnected = true))
    socket.setTimeout(patience, () =>
      settle({ code: isConnected ? silentCode : 'ETIMEDOUT', message: 'no answer' }),
    )
  })

const untrusted =
  'its certificate is signed by an authority that is not trusted here: name the file with the authority’s certificate as tlsCAFile in the URL'
const noTls =
  'the server does not speak TLS there: correct the port, or add tls=false to the URL (on a trusted network only)'
const unheard = 'no answer: check the host, and the firewalls in between'
const unknownName = 'there is no host with that name: correct it'

/** Code defined here for a connection that is accepted but then silent. */
const silentCode = 'silent'

const problems: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start the server, or correct the port',
  ECONNRESET: noTls,
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ENOTFOUND: unknownName,
  EAI_AGAIN: unknownName,
  [silentCode]: silent,
  ETIMEDOUT: unheard,
  EHOSTUNREACH: unheard,
  ENETUNREACH: unheard,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for other names: use one of them in the URL, or get a certificate for this name',
  CERT_HAS_EXPIRED: 'its certificate has expired: renew it',
}
