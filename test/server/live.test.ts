import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { PassThrough, type Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { app } from '../../src/server/app.ts'
import { serve } from '../../src/server/serve.ts'
import { heartbeat } from '../../src/server/sse.ts'
import { createAccessToken, revokeAccessToken } from '../../src/server/access-tokens.ts'
import { eventStream, type SseMessage } from '../../src/server/sse.ts'
import { atEnd } from '../support/at-end.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

interface Message {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: unknown
}

/** The messages of an event stream, as the standard has them. */
const messagesIn = (text: string): readonly Message[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => {
      const field = (name: string): string | undefined =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2)
      const [id, event, data] = [field('id'), field('event'), field('data')]
      return data === undefined && id === undefined
        ? []
        : [{ id, event, data: data && (JSON.parse(data) as unknown) }]
    })

/** Reads an event stream until it has what is wanted, and goes away. */
const reader = async (
  url: string,
  headers: Readonly<Record<string, string>>,
  isEnough: (messages: readonly Message[]) => boolean,
): Promise<readonly Message[]> => {
  const request = get(url, { headers: { accept: 'text/event-stream', ...headers } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  let messages: readonly Message[] = []
  for await (const chunk of response) {
    text += String(chunk)
    messages = messagesIn(text)
    if (isEnough(messages)) break
  }
  request.destroy()
  return messages
}

const listening = async (url = 'memory:', log?: Writable) => {
  const store = await opened(url)
  const server = await serve({ store, port: 0, log })
  atEnd(server.close)
  return { store, api: `${server.url}/api/v1` }
}
/** Waits until the server has so many readers of event streams. */
const readers = async (api: string, count: number): Promise<void> => {
  await expect
    .poll(async () => (await fetch(new URL('/metrics', api))).text())
    .toContain(`palimpsest_event_streams ${count}\n`)
}
const message = (n: number) =>
  ({ role: n % 2 === 0 ? 'user' : 'assistant', content: `Message ${n}.` }) as const

test('a reader whose token is revoked is told nothing more', async () => {
  const store = await opened('memory:')
  const tokenFile = join(temporaryFolder(), 'tokens.json')
  const [ann, eve] = ['ann', 'eve'].map((name) => createAccessToken(tokenFile, name, ['read']))
  const server = await serve({ store, port: 0, tokenFile })
  atEnd(server.close)
  const chat = store.conversation('a')
  await chat.append(message(0))
  const url = `${server.url}/api/v1/conversations/a/events?after=0`
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${ann}` }
  const reading = await fetch(url, { headers })
  expect(reading.status).toBe(200)
  revokeAccessToken(tokenFile, 'ann')
  const other = reader(url, { authorization: `Bearer ${eve}` }, (all) => all.some(({ id }) => id === '1'))
  await chat.append(message(1))
  expect(await reading.text()).not.toContain('Message 1.')
  expect((await other).at(-1)?.data).toMatchObject({ position: 1 })
})

test('the idle stream of a reader whose token is revoked ends before its next heartbeat', async () => {
  const store = await opened('memory:')
  const tokenFile = join(temporaryFolder(), 'tokens.json')
  const ann = createAccessToken(tokenFile, 'ann', ['read'])
  const server = await serve({ store, port: 0, tokenFile })
  atEnd(server.close)
  await store.conversation('a').append(message(0))
  const url = `${server.url}/api/v1/conversations/a/events`
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${ann}` }
  const reading = await fetch(url, { headers })
  revokeAccessToken(tokenFile, 'ann')
  const began = performance.now()
  expect(await reading.text()).toContain('caught-up')
  expect(performance.now() - began).toBeLessThan(heartbeat - 3_000)
})

describe('a live conversation', () => {
  test('tells what comes after a position, and once that it has caught up', async () => {
    const { store, api } = await listening()
    const chat = store.conversation('a')
    for (let n = 0; n < 4; n++) await chat.append(message(n))
    const reading = reader(`${api}/conversations/a/events?after=1`, {}, (all) => all.length === 4)
    await readers(api, 1)
    await chat.append(message(4))
    expect((await reading).map(({ id, event }) => [event, id])).toEqual([
      ['MessageAppended', '2'],
      ['MessageAppended', '3'],
      ['caught-up', undefined],
      ['MessageAppended', '4'],
    ])
  })

  test('is told without a gap or a repeat, however often the reader is cut off', async () => {
    const { store, api } = await listening()
    const chat = store.conversation('a')
    await chat.append(message(0))
    const all = 200
    const writing = (async () => {
      for (let n = 1; n < all; n++) await chat.append(message(n))
    })()
    const seen: number[] = []
    for (let cut = 1; seen.at(-1) !== all - 1; cut++) {
      const headers: Record<string, string> = seen.length > 0 ? { 'last-event-id': String(seen.at(-1)) } : {}
      const most = 1 + ((cut * 7) % 23)
      const got = await reader(`${api}/conversations/a/events?after=-1`, headers, (messages) => {
        const positions = messages.flatMap(({ id }) => id ?? [])
        return positions.length >= most || positions.at(-1) === String(all - 1)
      })
      // What a reader has of a message when it is cut off, it asks for again.
      seen.push(...got.flatMap(({ id }) => (id === undefined ? [] : [Number(id)])))
    }
    await writing
    expect(seen).toEqual(Array.from({ length: all }, (_, n) => n))
  })

  test('is refused where there is nothing to follow', async () => {
    const { store, api } = await listening()
    await store.conversation('a').append(message(0))
    const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(api + path, { headers: { accept: 'text/event-stream', ...headers } })).status
    expect(await status('/conversations/none/events')).toBe(404)
    expect(await status('/conversations/a/events?after=9')).toBe(400)
    expect(await status('/conversations/a/events', { 'last-event-id': 'x' })).toBe(400)
    // A stream that says so would be asked for again, for ever.
    expect(await status('/events', { 'last-event-id': 'x' })).toBe(400)
    expect(await status('/events?after=', {})).toBe(400)
    expect(await status('/events?after=9-x', {})).toBe(400)
  })

  test('whose reader goes away is no fault of the server', async () => {
    const log = new PassThrough({ encoding: 'utf8' })
    const { store, api } = await listening('memory:', log)
    const chat = store.conversation('talk')
    await chat.append({ role: 'user', content: 'Hello' })
    await reader(`${api}/conversations/talk/events?after=-1`, {}, (got) => got.length > 1)
    await readers(api, 0)
    expect(log.read()).not.toContain('"level":50')
  })

  test('holds up nobody, and ends with the server', async () => {
    const store = await opened('memory:')
    await store.conversation('a').append(message(0))
    const server = await serve({ store, port: 0 })
    const url = `${server.url}/api/v1/conversations/a/events`
    const all = Array.from({ length: 20 }, () => reader(url, {}, () => false))
    await readers(`${server.url}/api/v1`, 20)
    await server.close()
    // One that had not been told yet is told nothing.
    const told = (await Promise.all(all)).flat().map(({ event }) => event)
    expect(new Set(told).difference(new Set(['caught-up']))).toEqual(new Set())
    expect(told.length).toBeLessThanOrEqual(20)
  })
})

test('a live store tells the events of all conversations, or of those whose id begins so, and continues', async () => {
  const { store, api } = await listening()
  for (const id of ['a-1', 'b-1', 'a-2']) await store.conversation(id).append(message(0))
  const ofA = (all: readonly Message[]): boolean =>
    all.filter(({ event }) => event !== undefined).length === 2
  const got = await reader(`${api}/events?beginning=a-`, {}, ofA)
  expect(
    got.filter(({ data }) => data).map(({ data }) => (data as { conversation: string }).conversation),
  ).toEqual(['a-1', 'a-2'])
  const first = got.find(({ data }) => data)
  const rest = await reader(`${api}/events?beginning=a-`, { 'last-event-id': first?.id ?? '' }, (all) =>
    all.some(({ data }) => data),
  )
  expect(rest.find(({ data }) => data)?.data).toMatchObject({ conversation: 'a-2' })
})

test('a live store tells only what comes from now on, if that is asked for, and continues there', async () => {
  const { store, api } = await listening()
  for (const id of ['a', 'b']) await store.conversation(id).append(message(0))
  const none = await reader(`${api}/events?from=now`, {}, (all) => all.length === 1)
  expect(none.map(({ data }) => data)).toEqual([undefined])
  await store.conversation('c').append(message(0))
  const place = { 'last-event-id': none[0]?.id ?? '' }
  const got = await reader(`${api}/events?from=now`, place, (all) => all.some(({ data }) => data))
  const its = got.filter(({ data }) => data).map(({ data }) => data as { conversation: string })
  expect(its.map(({ conversation }) => conversation)).toEqual(['c'])
})

describe('an event stream', () => {
  async function* silent(): AsyncGenerator<SseMessage, void> {
    yield { id: '1', event: 'one', data: 'a\nb' }
    await new Promise(() => {})
  }

  test('shows that it lives', async () => {
    const stream = eventStream(silent(), new AbortController().signal, 5)
    const texts = []
    for await (const text of stream) {
      texts.push(text)
      if (texts.length === 4) break
    }
    expect(texts).toEqual(['retry: 2000\n\n', 'event: one\nid: 1\ndata: "a\\nb"\n\n', ':\n\n', ':\n\n'])
  })

  test('takes no more than its reader has taken', async () => {
    let told = 0
    async function* endless(): AsyncGenerator<SseMessage, void> {
      for (;;) yield { id: String(told++) }
    }
    const stream = eventStream(endless(), new AbortController().signal)
    for (let n = 0; n < 5; n++) await stream.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(told).toBeLessThanOrEqual(6)
  })
})

test('hundreds of streams with much to read leave room between two messages', async () => {
  let read = 0
  async function* heavy(): AsyncGenerator<SseMessage, void> {
    for (;;) {
      const until = performance.now() + 4
      while (performance.now() < until);
      read++
      yield { data: read }
    }
  }
  const { signal } = new AbortController()
  const streams = Array.from({ length: 20 }, () => eventStream(heavy(), signal))
  // The first piece is the time to wait before a reconnection.
  await Promise.all(streams.map((stream) => stream.next()))
  await Promise.all(streams.map((stream) => stream.next()))
  const readBefore = read
  const all = Promise.all(streams.map((stream) => stream.next()))
  let most = 0
  while (read < readBefore + streams.length) {
    const before = read
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, read - before)
  }
  await all
  expect(most).toBeLessThan(4)
  await Promise.all(streams.map((stream) => stream.return()))
})

test('more event streams than the limit are refused, until one has ended', async () => {
  const store = await opened('memory:')
  await store.conversation('a').append(message(0))
  const server = app({ store, mostStreams: 2 })
  const events = '/api/v1/conversations/a/events'
  const begin = (path: string, method = 'GET') =>
    server.request(`http://localhost${path}`, {
      method,
      headers: { host: 'localhost', accept: 'text/event-stream' },
    })
  const [first] = [await begin(events), await begin('/api/v1/events')]
  for (const path of [events, '/api/v1/events']) {
    const refused = await begin(path)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await refused.json()).toMatchObject({ tag: 'Overloaded', limit: 2 })
  }
  expect((await server.request(`http://localhost${events}`, { headers: { host: 'localhost' } })).status).toBe(
    200,
  )
  await first?.body?.cancel()
  // Neither a request without a body nor one that fails takes room.
  expect((await begin(events, 'HEAD')).status).toBe(200)
  expect((await begin('/api/v1/conversations/none/events')).status).toBe(404)
  expect((await begin(events)).status).toBe(200)
})
