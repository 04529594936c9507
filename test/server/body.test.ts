import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import { app } from '../../src/server/app.ts'
import { createAdaptorServer } from '@hono/node-server'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEnd } from '../support/at-end.ts'
import { opened } from '../support/stores.ts'

test.each([
  ['that says how long it is', false],
  ['in pieces', true],
])('a body %s is read up to the limit', async (_, isChunked) => {
  const store = await opened('memory:')
  const server = createAdaptorServer({ fetch: app({ store, maxBody: 1_000 }).fetch }) as Server
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => void server.close())
  const { port } = server.address() as AddressInfo
  const posted = async (content: string) => {
    const text = JSON.stringify({ messages: [{ role: 'user', content }] })
    const headers = {
      'content-type': 'application/json',
      ...(!isChunked && { 'content-length': Buffer.byteLength(text) }),
    }
    const path = '/api/v1/conversations'
    const asked = request({ port, path, method: 'POST', headers, agent: false })
    asked.on('error', () => {})
    const half = text.length / 2
    asked.write(text.slice(0, half))
    asked.end(text.slice(half))
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    asked.destroy()
    return answer.statusCode
  }
  expect(await posted('Zwölf 😀')).toBe(201)
  expect(await posted('x'.repeat(1_000))).toBe(413)
  expect(await posted('Zwölf 😀')).toBe(201)
})
