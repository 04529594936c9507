import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { api } from './api.ts'
import { appOf } from './app.ts'
import { direct } from './direct.ts'
import type { ServerSettings } from './settings.ts'

/**
 * Makes the request listener of a Node server.
 *
 * @param hostname host on which the server listens
 */
export const listener = (settings: ServerSettings, hostname: string): RequestListener => {
  const operations = api(settings)
  const { fetch } = appOf(operations, settings)
  // The adapter returns a promise, which never rejects.
  const adapted = getRequestListener(fetch, { hostname })
  return direct(operations, (incoming, outgoing) => void adapted(incoming, outgoing))
}
