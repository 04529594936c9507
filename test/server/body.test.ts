import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { listener } from '../../src/server/listener.ts'
import type { ServedRequest } from '../../src/server/metrics.ts'
import { atEnd } from '../support/at-end.ts'
import { opened } from '../support/stores.ts'

const path = '/api/v1/conversations'
const ways: readonly (readonly [string, boolean])[] = [
  ['that says how long it is', false],
  ['in pieces', true],
]

const scene = async (isChunked: boolean) => {
  const store = await opened('memory:')
  const faults: unknown[] = []
  const served: ServedRequest[] = []
  const settings = {
    store,
    maxBody: 1_000,
    onFault: (error: unknown) => faults.push(error),
    onRequest: (one: ServedRequest) => served.push(one),
  }
  const server = createServer(listener(settings, '127.0.0.1'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => void server.close())
  const { port } = server.address() as AddressInfo
  /** A request of which a half has been sent, and its rest. */
  const begun = (content: string) => {
    const text = JSON.stringify({ messages: [{ role: 'user', content }] })
    const headers = {
      'content-type': 'application/json',
      ...(!isChunked && { 'content-length': Buffer.byteLength(text) }),
    }
    const asked = request({ port, path, method: 'POST', headers, agent: false })
    asked.on('error', () => {})
    const half = text.length / 2
    asked.write(text.slice(0, half))
    return { asked, rest: text.slice(half) }
  }
  const posted = async (content: string) => {
    const { asked, rest } = begun(content)
    asked.end(rest)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    asked.destroy()
    return answer.statusCode
  }
  return { server, begun, posted, faults, served }
}

test.each(ways)('a body %s is read up to the limit', async (_, isChunked) => {
  const { posted } = await scene(isChunked)
  expect(await posted('Zwölf 😀')).toBe(201)
  expect(await posted('x'.repeat(1_000))).toBe(413)
  expect(await posted('Zwölf 😀')).toBe(201)
})

test.each(ways)('a body %s that breaks off is no fault of the server', async (_, isChunked) => {
  const { server, begun, posted, faults, served } = await scene(isChunked)
  const arrived = once(server, 'request')
  const { asked } = begun('Zwölf 😀')
  await arrived
  asked.destroy()
  await expect.poll(() => served).toMatchObject([{ status: 400 }])
  expect(faults).toEqual([])
  expect(await posted('Zwölf 😀')).toBe(201)
})
