import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { apiPathOf } from '../../src/server/client/api-path.ts'
import { messagesAfter, sseReader } from '../../src/server/client/sse.ts'
import { httpSource } from '../../src/ui/source/http.ts'
import { toThrowable, problemOf } from '../../src/ui/source/source.ts'
import { atEnd } from '../support/at-end.ts'

const stream = [
  'retry: 2000\n\n',
  'event: MessageAppended\nid: 3\ndata: {"position":3}\n\n',
  ':\n\n',
  'event: caught-up\ndata: {"position":3}\n\n',
  'id: 4\n\n',
  'data: [1,\ndata: 2]\nid: 5\n\n',
  'event: Rewound\nid: 6\ndata: {"position":',
].join('')

describe('an event stream', () => {
  test('is the same messages however it is cut into pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const take = sseReader()
        const places = [0, ...cuts.toSorted((one, other) => one - other), stream.length]
        const told = places.flatMap((place, index) => take(stream.slice(place, places[index + 1] ?? place)))
        expect(told).toEqual([
          { id: '3', event: 'MessageAppended', data: { position: 3 } },
          { id: undefined, event: 'caught-up', data: { position: 3 } },
          { id: '4', event: 'message', data: undefined },
          { id: '5', event: 'message', data: [1, 2] },
        ])
      }),
    )
  })

  test('that is cut off in a message has said only those before it', () => {
    expect(sseReader()('id: 9\n\nid: 10')).toEqual([{ id: '9', event: 'message', data: undefined }])
  })
})

describe('a stream that is requested again', () => {
  /** A response that sends these texts, and then nothing more. */
  const sending = (texts: readonly string[], signal: AbortSignal): Response =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
          signal.addEventListener('abort', () => controller.error(signal.reason))
        },
      }),
    )
  /** The messages of a server that sends one message more to each request, and what it was asked for. */
  const following = (after: string | undefined, most: number) => {
    const ending = new AbortController()
    const asked: (string | undefined)[] = []
    const errors: unknown[] = []
    const messages = messagesAfter(
      {
        open: (lastId, signal) => {
          asked.push(lastId)
          return Promise.resolve(sending([`id: ${Number(lastId ?? 0) + 1}\ndata: 1\n\n`], signal))
        },
        errorOf: (problem) => new Error(String(problem)),
        again: (error) => {
          errors.push(error)
          return sleep(0)
        },
        signal: ending.signal,
      },
      after,
      most,
    )
    return { messages, asked, errors, end: () => ending.abort() }
  }

  test('when nothing comes for too long continues after its last message, until it is ended', async () => {
    const { messages, asked, errors, end } = following('3', 20)
    const ids: unknown[] = []
    for await (const { id } of messages) {
      ids.push(id)
      if (id === '6') end()
    }
    expect(ids).toEqual(['4', '5', '6'])
    expect(asked).toEqual(['3', '4', '5'])
    expect(errors).toEqual([expect.any(TypeError), expect.any(TypeError)])
  })

  test('waits for those who take their time with a message', async () => {
    const { messages, asked, end } = following(undefined, 20)
    for await (const { id } of messages) {
      await sleep(60)
      expect(asked).toHaveLength(Number(id))
      if (id === '2') end()
    }
  })
})

test('any error is a problem that can be shown', () => {
  const problem = { title: 'Stale context', detail: 'Look again.', status: 412, tag: 'StaleContext' }
  expect(problemOf(toThrowable(problem))).toMatchObject(problem)
  expect(problemOf(new Error('broken'))).toMatchObject({ detail: 'broken', status: 0 })
  expect(problemOf('odd')).toMatchObject({ detail: 'odd' })
})

describe('a source whose token was revoked', () => {
  test('asks to sign in again, but not for what was sent before somebody did', async () => {
    const held: ServerResponse[] = []
    const refuse = (response: ServerResponse): void => {
      response.writeHead(401, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ title: 'Unauthorized', detail: 'no token', status: 401 }))
    }
    const server = createServer((request, response) => {
      if (request.url === '/workers') held.push(response)
      else if (request.url === '/session') response.end('{}')
      else refuse(response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    atEnd(() => server.close())
    const whys: string[] = []
    const { port } = server.address() as AddressInfo
    const source = httpSource({
      base: `http://127.0.0.1:${port}`,
      onUnauthorized: (why) => void whys.push(why),
    })

    const late = source.get(apiPathOf('/workers')).catch(problemOf)
    await expect(source.get(apiPathOf('/conversations'))).rejects.toMatchObject({ status: 401 })
    await source.post(apiPathOf('/session'), { token: 'another' })
    await expect.poll(() => held.length).toBe(1)
    held.forEach(refuse)
    expect(await late).toMatchObject({ status: 401 })
    expect(whys).toEqual(['no-token'])
  })
})
