import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import type { Store } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { opened } from '../support/stores.ts'

/** Far shorter than a minute, and long enough for a request to arrive on a busy machine. */
const stall = 1_000

const serving = async (store: Store) => {
  const server = await serve({ store, port: 0, stall })
  atEnd(server.close)
  return server
}

/** A connection that was used before. */
const reused = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  atEnd(() => void socket.destroy())
  socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(socket, 'data')
  return socket
}
const get = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n`

/** Reads until this is there. */
const heard = async (socket: Socket, isEnough: (text: string) => boolean): Promise<void> => {
  let text = ''
  while (!isEnough(text)) text += String((await once(socket, 'data'))[0])
}
const beats = (text: string): number => text.split('\r\n:\n\n').length - 1

test('a sender that sends nothing more is cut off, also on a connection that was used before', async () => {
  const { url } = await serving(await opened('memory:'))
  const socket = await reused(url)
  const closed = once(socket, 'close')
  socket.write('POST /api/v1/conversations HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"mess')
  await closed
  expect(socket.closed).toBe(true)
})

test('a connection is kept for longer than proxies reuse one', async () => {
  const { url } = await serving(await opened('memory:'))
  const { headers } = await fetch(`${url}/healthz`)
  expect(headers.get('keep-alive')).toBe('timeout=75')
})

test('a reader that takes nothing is cut off, also on a connection that was used before', async () => {
  const store = await opened('memory:')
  const content = 'x'.repeat(1_000_000)
  for (let n = 0; n < 20; n++) await store.conversation('a').append({ role: 'user', content })
  const { url } = await serving(store)
  const streams = async (): Promise<string | undefined> =>
    /palimpsest_event_streams (\d+)/.exec(await (await fetch(`${url}/metrics`)).text())?.[1]
  const socket = await reused(url)
  socket.write(get('/api/v1/conversations/a/events?after=-1'))
  const [begun] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  expect(String(begun)).toContain('text/event-stream')
  await expect.poll(streams).toBe('0')
})

test('who waits for something to happen, or for a slow answer, is not cut off', async () => {
  const store = await opened('memory:')
  const chat = store.conversation('a')
  await chat.append({ role: 'user', content: 'Begin.' })
  const gate = Promise.withResolvers<void>()
  const other = store.conversation('slow')
  await other.append({ role: 'user', content: 'Begin.' })
  const slow = { ...other, end: () => gate.promise.then(other.end) }
  const { url } = await serving({ ...store, conversation: (id) => (id === 'slow' ? slow : chat) })
  const answer = fetch(`${url}/api/v1/conversations/slow`)
  const socket = await reused(url)
  socket.write(get('/api/v1/conversations/a/events'))
  // Each is a quarter of what is waited for at most.
  await heard(socket, (text) => beats(text) > 10)
  gate.resolve()
  expect((await answer).status).toBe(200)
  await chat.append({ role: 'user', content: 'Still there?' })
  await heard(socket, (text) => text.includes('Still there?'))
})

test('a server that ends waits for no connection on which nothing is asked', async () => {
  const server = await serve({ store: await opened('memory:'), port: 0 })
  const { hostname, port } = new URL(server.url)
  const unused = connect(Number(port), hostname)
  unused.on('error', () => {})
  await once(unused, 'connect')
  const used = await reused(server.url)
  used.write(get('/api/v1/events'))
  await heard(used, (text) => text.includes('retry'))
  const ended = Promise.all([once(unused, 'close'), once(used, 'close')])
  // Nothing is cut off only because time has passed.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  atEnd(() => void vi.useRealTimers())
  unused.resume()
  used.resume()
  await server.close()
  await ended
  expect([unused.closed, used.closed]).toEqual([true, true])
})
