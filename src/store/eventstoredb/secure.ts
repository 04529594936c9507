import { isIP, Socket } from 'node:net'
import { type Fields, isFields } from '../../events/json.ts'

/** Functions that the client library uses to create a channel. */
export interface ChannelMaker {
  /** Returns the address to which the next channel connects. */
  resolveUri: () => Promise<string>
  readonly createChannel: () => Promise<{ readonly close: () => void }>
}

/**
 * Function that secures a connection to a node (`host:port`) in the same way as the client library, with its certificates; without TLS,
 * it returns the connection unchanged.
 */
export type Secure = (node: string, socket: Socket) => Promise<Socket>

/**
 * Prevents TLS from sending a server name to a server named by its IP address: RFC 6066 forbids it, and Node warns (DEP0123). The
 * certificate is still checked against that address. The gRPC library sends the address as the server name and has no option to prevent
 * this, so this function changes the credentials that the client uses for all its channels
 * (docs/adr/0009-the-client-connects-we-speak.md).
 *
 * @returns a function that secures other connections in the same way; undefined if a version of the library stores its credentials
 * elsewhere, in which case nothing is changed and Node warns
 */
export const secureBy = async (client: ChannelMaker): Promise<Secure | undefined> => {
  const { resolveUri } = client
  // A channel connects when it is first used; this one never is.
  client.resolveUri = () => Promise.resolve('localhost')
  const channel = await client.createChannel().finally(() => (client.resolveUri = resolveUri))
  const credentials = fieldsIn(channel, 'internalChannel', 'credentials')
  channel.close()
  const make = credentials?.['_createSecureConnector']
  if (!credentials || typeof make !== 'function') return undefined
  const connectorTo = (...args: readonly unknown[]): Fields => {
    const made: unknown = Reflect.apply(make, credentials, args)
    const options = fieldsIn(made, 'connectionOptions')
    if (options && isIP(String(options['servername'])) > 0 && options['host'] === options['servername'])
      Object.assign(options, { servername: '' })
    return isFields(made) ? made : {}
  }
  Object.assign(credentials, {
    _createSecureConnector: (...args: readonly unknown[]): Fields => {
      const connector = connectorTo(...args)
      const { connect } = connector
      // The library never gives up on an unanswered handshake. Its socket must not keep the process alive; the call has a timer.
      return typeof connect === 'function'
        ? Object.assign(connector, {
            connect: (socket: Socket): unknown => Reflect.apply(connect, connector, [socket.unref()]),
          })
        : connector
    },
  })
  return async (node, socket) => {
    const connector = connectorTo({ scheme: 'dns', path: node }, {})
    const { connect } = connector
    const made: unknown =
      typeof connect === 'function' ? await Reflect.apply(connect, connector, [socket]) : {}
    const used = isFields(made) ? made['socket'] : undefined
    return used instanceof Socket ? used : socket
  }
}

const fieldsIn = (value: unknown, ...path: readonly string[]): Fields | undefined => {
  const found = path.reduce<unknown>((at, field) => (isFields(at) ? at[field] : undefined), value)
  return isFields(found) ? found : undefined
}
