import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { Store } from '../../src/index.ts'
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
  /** Sends these bytes as a body, and returns the answer. */
  const sent = async (text: string | Buffer) => {
    const body = Buffer.from(text)
    const headers = {
      'content-type': 'application/json',
      ...(isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length }),
    }
    const asked = request({ port, path, method: 'POST', headers, agent: false })
    asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, body: (await json(answer)) as { readonly detail?: string } }
  }
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
  return { store, server, sent, begun, posted, faults, served }
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

test.each(ways)('a body %s that is not UTF-8 is refused, and nothing is stored', async (_, isChunked) => {
  const { store, sent } = await scene(isChunked)
  const begin = '{"messages": [{"role": "user", "content": "Zwölf �'
  const bad = Buffer.concat([Buffer.from(begin), Buffer.from([0xff]), Buffer.from('"}]}')])
  const { status, body } = await sent(bad)
  expect([status, body]).toMatchObject([
    400,
    { tag: 'InvalidRequest', detail: expect.stringContaining(`byte ${Buffer.byteLength(begin)}`) as string },
  ])
  // The first byte of a character, and the end.
  expect((await sent(Buffer.concat([Buffer.from('"'), Buffer.from([0xc3])]))).body).toMatchObject({
    detail: expect.stringContaining('byte 1') as string,
  })
  expect(await listed(store)).toEqual([])
  expect((await sent(`${begin}"}]}`)).status).toBe(201)
})

const listed = async (store: Store) => {
  const all = []
  for await (const one of store.conversations()) all.push(one)
  return all
}

const withInput = (input: string): string =>
  `{"messages": [{"role": "user", "content": "1e400"}, {"role": "assistant", "content": [
    {"type": "tool_use", "id": "a", "name": "get", "input": ${input}}]}]}`

test.each([
  '9007199254740992',
  '[1, -12345678901234567890]',
  '{"id": 9007199254740993}',
  '{"a\\\\": 1e400}',
  '{"a": 1E-400}',
  '{"a": 0.123456789012345678}',
  '{"a": 1.00000000000000001}',
  `{"a": 0.${'0'.repeat(400)}1}`,
  `1${'0'.repeat(400)}.0`,
  '{"a": 12345678901234567890.0}',
])('a number that would be changed is refused: %s', async (input) => {
  const { sent, store } = await scene(false)
  const { status, body } = await sent(withInput(input.startsWith('{') ? input : `{"a": ${input}}`))
  const [number = ''] = /-?\d[\d.eE+-]{4,}/.exec(input) ?? []
  expect([status, body]).toMatchObject([
    400,
    { tag: 'InvalidRequest', detail: expect.stringContaining(`the number ${number.slice(0, 40)}`) as string },
  ])
  expect(await listed(store)).toEqual([])
})

test.each([
  '{"a": [9007199254740991, -9007199254740991, 0.30000000000000004, 1.7976931348623157e308, 5e-324]}',
  '{"a": 0.0000000000000000000000000000, "b": 0e400, "c": 100000000000000000.0}',
  '{"12345678901234567890": "1e400 \\"12345678901234567890", "b": "\\\\", "c": ["12345678901234567890"]}',
])('other numbers, and digits in strings, are stored as they are: %s', async (input) => {
  const { sent, store } = await scene(true)
  expect((await sent(withInput(input))).status).toBe(201)
  const [first] = await listed(store)
  const { items } = await store.conversation(first?.id ?? '').context()
  expect(items.at(-1)).toMatchObject({ content: [{ input: JSON.parse(input) as object }] })
})
