import { isIP } from 'node:net'
import { type Fields, isFields } from '../../events/json.ts'

/** How the client makes a channel. */
export interface ChannelMaker {
  /** The address of the next channel. */
  resolveUri: () => Promise<string>
  readonly createChannel: () => Promise<{ readonly close: () => void }>
}

/**
 * Makes TLS send no server name to a server named by its IP address: RFC 6066 forbids it, and Node warns (DEP0123). The certificate is
 * still checked against that address. The gRPC library sends the address as the name and has no option against it, so this changes the
 * credentials that the client uses for all its channels. If a version of the library keeps them elsewhere, nothing is changed, and
 * Node warns (docs/adr/0009-the-client-connects-we-speak.md).
 */
export const withoutAddressAsName = async (client: ChannelMaker): Promise<void> => {
  const { resolveUri } = client
  // A channel connects when it is first used; this one never is.
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
