import { isIP } from 'node:net'
import { type Fields, isFields } from '../../events/json.ts'

/** The client's way to a channel. */
export interface ChannelMaker {
  /** Where the next channel leads. */
  resolveUri: () => Promise<string>
  readonly createChannel: () => Promise<{ readonly close: () => void }>
}

/**
 * Has TLS give no server name where a server is known by its IP address: RFC 6066 allows none there, and Node warns of it (DEP0123).
 * What the certificate must name stays that address. The gRPC library gives the address as the name, and has no option for none; so
 * the credentials that the client holds for all its channels are changed. Where a version of the library keeps them elsewhere,
 * nothing is, and Node warns (docs/adr/0009-the-client-connects-we-speak.md).
 */
export const withoutAddressAsName = async (client: ChannelMaker): Promise<void> => {
  const { resolveUri } = client
  // A channel connects when it is first used: this one never is.
  client.resolveUri = () => Promise.resolve('localhost')
  const channel = await client.createChannel().finally(() => (client.resolveUri = resolveUri))
  const credentials = fieldsIn(channel, 'internalChannel', 'credentials')
  channel.close()
  const connector = credentials?.['_createSecureConnector']
  if (!credentials || typeof connector !== 'function') return
  Object.assign(credentials, {
    _createSecureConnector: (...args: readonly unknown[]): unknown => {
      const made: unknown = Reflect.apply(connector, credentials, args)
      const options = fieldsIn(made, 'connectionOptions')
      if (options && isIP(String(options['servername'])) > 0 && options['host'] === options['servername'])
        Object.assign(options, { servername: '' })
      return made
    },
  })
}

const fieldsIn = (value: unknown, ...path: readonly string[]): Fields | undefined => {
  const found = path.reduce<unknown>((at, field) => (isFields(at) ? at[field] : undefined), value)
  return isFields(found) ? found : undefined
}
