import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type EventsQuery, isError, openClient } from 'palimpsest/client'
import type { Store } from '../../../src/index.ts'
import { serve, type ServeOptions } from '../../../src/server/serve.ts'
import { createAccessToken } from '../../../src/server/access-tokens.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { builtPackage } from '../../support/bundle.ts'
import { text } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'
import { opened, temporaryFolder } from '../../support/stores.ts'

const hello = { role: 'user', content: 'Is it there?' } as const

const serving = async (options: Partial<ServeOptions> = {}) => {
  const store = await opened('memory:')
  const server = await serve({ store, port: 0, ...options })
  atEnd(server.close)
  return { store, url: server.url }
}

/** A way to the server that breaks: before a request is passed on, after its answer came, or in the middle of that. */
const breaking = async (target: string, how: () => 'open' | 'before' | 'after' | number) => {
  const proxy = createServer(async (incoming, outgoing) => {
    const cut = how()
    const body = await textOf(incoming)
    if (cut === 'before') {
      outgoing.destroy()
      return
    }
    const method = incoming.method ?? 'GET'
    const passed = request(target + incoming.url, { method, headers: incoming.headers })
    outgoing.on('close', () => passed.destroy())
    passed.on('error', () => outgoing.destroy())
    passed.end(body)
    passed.on('response', (answer) => {
      let left = typeof cut === 'number' ? cut : Infinity
      // A stream has no end to wait for.
      if (cut === 'after' && answer.headers['content-type']?.startsWith('text/event')) outgoing.destroy()
      if (cut !== 'after') outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.on('data', (chunk: Buffer) => {
        if (cut === 'after') return
        outgoing.write(chunk)
        left -= chunk.length
        if (left < 0) outgoing.destroy()
      })
      answer.on('error', () => outgoing.destroy())
      answer.on('end', () => (cut === 'after' ? outgoing.destroy() : outgoing.end()))
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  atEnd(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}
const cut = fc.oneof(fc.constantFrom('open' as const, 'before' as const, 'after' as const), fc.nat(3_000))

const events = async (store: Store, id: string): Promise<readonly string[]> => {
  const all = []
  for await (const { type } of store.conversation(id).events()) all.push(type)
  return all
}

describe('a client', () => {
  test('writes once whatever breaks on the way, and follows without a gap or a repeat', async () => {
    const { store, url } = await serving()
    let cuts: ('open' | 'before' | 'after' | number)[] = []
    const client = openClient(await breaking(url, () => cuts.pop() ?? 'open'))
    let conversations = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(cut, { maxLength: 4 }),
        fc.array(cut, { maxLength: 4 }),
        async (one, other) => {
          const id = `c${conversations++}`
          await store.conversation(id).append(hello)
          cuts = [...one]
          const chat = client.conversation(id)
          const followed: number[] = []
          const following = (async () => {
            for await (const { position } of chat.follow({ after: -1 }))
              if (followed.push(position) === 4) break
          })()
          await chat.append({ role: 'assistant', content: 'Yes.' }, { after: 0 })
          cuts = [...other]
          await chat.append(hello)
          await chat.rewind({ to: 1 })
          await following
          expect(followed).toEqual([0, 1, 2, 3])
          expect(await events(store, id)).toEqual([
            'MessageAppended',
            'MessageAppended',
            'MessageAppended',
            'Rewound',
          ])
        },
      ),
      { numRuns: runs(25) },
    )
  })

  test('asks for a turn once, and is told its words, its events and its outcome, whatever breaks', async () => {
    const api = await messagesApi({ reply: () => ({ content: [text('Yes, it is there.')] }) })
    const { store, url } = await serving()
    atEnd(api.close)
    const anthropic = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const worker = store.worker({ turn: () => ({ client: anthropic, model: 'claude-opus-5-5' }) })
    const ends = new AbortController()
    const done = worker.run({ signal: ends.signal })
    atEnd(async () => {
      ends.abort()
      await done
    })
    let cuts: ('open' | 'before' | 'after' | number)[] = ['open', 300, 'before', 'before']
    const chat = openClient(await breaking(url, () => cuts.pop() ?? 'open')).conversation('a')
    const types = []
    const positions = []
    for await (const message of chat.turn(hello, { tenant: 'acme' })) {
      if (message.type !== 'claimed' && message.type !== 'released') types.push(message.type)
      if (message.type === 'event') positions.push(message.event.position)
      if (message.type === 'outcome')
        expect(message).toMatchObject({ outcome: 'done', stopReason: 'end_turn' })
    }
    expect(positions).toEqual([1, 2])
    expect([types[0], types.at(-1)]).toEqual(['asked', 'outcome'])
    expect(types.filter((type) => type === 'asked')).toHaveLength(1)
    expect(await events(store, 'a')).toEqual(['MessageAppended', 'Configured', 'MessageAppended'])
    cuts = []
    const rest = []
    for await (const { type } of chat.turn()) rest.push(type)
    expect(rest.at(-1)).toBe('outcome')
    const calls = []
    for await (const call of chat.calls()) calls.push(call)
    const own = []
    for await (const call of store.conversation('a').calls()) own.push(call)
    expect(calls).toEqual(JSON.parse(JSON.stringify(own)))
    expect(await chat.sent()).toMatchObject({ number: 1, isSame: true })
  })

  test('lists conversations, steps and workers, and follows all of them', async () => {
    const { store, url } = await serving()
    const client = openClient(`${url}/api/v1/`)
    const ids = Array.from({ length: 205 }, (_, n) => `c${n}`)
    for (const id of ids) await store.conversation(id).append(hello)
    await client.conversation('c0').request({ tenant: 'acme' })
    const listed = []
    for await (const { id } of client.conversations({ beginning: 'c', sort: 'id' })) listed.push(id)
    expect(listed).toEqual(ids.toSorted())
    const steps = []
    for await (const { conversation, tenant } of client.steps({ state: 'open' }))
      steps.push([conversation, tenant])
    expect(steps).toEqual([['c0', 'acme']])
    for await (const { workers } of client.workers()) expect(workers).toEqual([])
    const hits = []
    for await (const { conversation } of client.search('it there', { limit: 100 })) hits.push(conversation)
    expect(hits.toSorted()).toEqual(ids.toSorted())
    for await (const hit of client.conversation('c7').search('there'))
      expect(hit).toMatchObject({ position: 0, excerpt: { match: 'there' } })
    const followed = []
    for await (const item of client.follow({ from: 'now' })) {
      if (item.type === 'checkpoint') await client.conversation('c1').append(hello)
      else followed.push(item.conversation)
      if (followed.length === 1) break
    }
    expect(followed).toEqual(['c1'])
  })

  test('finds conversations by their titles as well, before where it was said', async () => {
    const { store, url } = await serving()
    const chat = store.conversation('a')
    await chat.append({ role: 'user', content: 'It is about parsers.' })
    await chat.note({ kind: 'title', data: 'Parsers' })
    const client = openClient(url)
    for (const hits of [client.search('parsers'), client.conversation('a').search('parsers')]) {
      const found = []
      for await (const hit of hits) found.push('position' in hit ? hit.position : hit.excerpt.match)
      expect(found).toEqual(['Parsers', 0])
    }
  })

  test('reads events backward, and only what is wanted of them', async () => {
    const { store, url } = await serving()
    const chat = store.conversation('a')
    await chat.append(Array.from({ length: 2_100 }, () => hello))
    const task = openClient(url).conversation('a')
    const positions = async (options: EventsQuery): Promise<readonly number[]> => {
      const found = []
      for await (const { position } of task.events(options)) found.push(position)
      return found
    }
    const from = (high: number, low: number): readonly number[] =>
      Array.from({ length: high - low + 1 }, (_, index) => high - index)
    expect(await positions({ direction: 'backward' })).toEqual(from(2_099, 0))
    expect(await positions({ direction: 'backward', to: 2_098 })).toEqual([2_099, 2_098])
    expect(await positions({ direction: 'backward', from: 1_500, to: 300 })).toEqual(from(1_500, 300))
    expect(await positions({ direction: 'backward', from: 3, to: 4 })).toEqual([])
    expect(await positions({ from: 1_050, to: 1_052 })).toEqual([1_050, 1_051, 1_052])
    for await (const event of task.events({ to: 0, fields: ['type'] }))
      expect(event).toEqual({ position: 0, type: 'MessageAppended' })
    const stop = new AbortController()
    await chat.append(hello)
    for await (const event of task.events({
      from: 2_100,
      follow: true,
      fields: ['id'],
      signal: stop.signal,
    })) {
      expect(Object.keys(event)).toEqual(['position', 'id'])
      if (event.position === 2_101) stop.abort()
      else await chat.append(hello)
    }
    expect(await task.position()).toBe(2_101)
  })

  test('compares full histories and requests, and says what markers hide', async () => {
    const { store, url } = await serving()
    const chat = store.conversation('a')
    for (const content of ['One.', 'Two.', 'Three.']) await chat.append({ role: 'user', content })
    await chat.truncate({ covers: { first: 0, last: 1 } })
    const task = openClient(url).conversation('a')
    const { changes } = await task.diff({ from: 2, of: 'full' })
    expect(changes.map(({ change, entry }) => [change, entry.position])).toEqual([
      ['turned', 0],
      ['turned', 1],
      ['appeared', 3],
    ])
    const { disappeared, parts } = await task.diff({ from: 2, of: 'request' })
    expect([disappeared.length > 0, parts]).toEqual([true, []])
    expect(await task.diff({ from: 2 })).toEqual(await chat.diff({ from: 2 }))
    expect(await task.hidden([3, 0])).toEqual([await store.catalogue.hidden('a', 3)])
    expect(await task.hidden([])).toEqual([])
  })

  test('says in a dry run what a command would write', async () => {
    const { store, url } = await serving()
    await store.conversation('a').append([hello, { role: 'assistant', content: 'Yes.' }, hello])
    const preview = await openClient(url).conversation('a').preview({ type: 'rewind', to: 0 })
    expect(preview).toMatchObject({ position: 2, before: { items: 3 }, after: { items: 1 } })
    expect(await events(store, 'a')).toHaveLength(3)
  })

  test('rejects with the errors of the library, and says what only a server refuses', async () => {
    const file = join(temporaryFolder(), 'tokens.json')
    const token = createAccessToken(file, 'ann', ['read'])
    const { store, url } = await serving({ tokenFile: file })
    await store.conversation('a').append(hello)
    const failed = async (promise: Promise<unknown>): Promise<unknown> =>
      promise.then(
        () => undefined,
        (error: unknown) => error,
      )
    const nobody = await failed(openClient(url).conversation('a').effective())
    expect([isError(nobody, 'Unauthorized'), isError(nobody), isError(new Error('x'))]).toEqual([
      true,
      true,
      false,
    ])
    expect(isError(nobody, 'Unauthorized') && nobody.message).toContain('`token`')
    const reader = openClient(url, { token }).conversation('a')
    expect(await reader.effective()).toHaveLength(1)
    expect(isError(await failed(reader.append(hello)), 'Forbidden')).toBe(true)
    const missing = await failed(openClient(url, { token }).conversation('b').position())
    expect(isError(missing, 'ConversationNotFound') && missing.conversation).toBe('b')
    const closed = await serve({ store, port: 0 })
    await closed.close()
    const away = openClient(closed.url, { retries: 1 }).conversation('a')
    const none = await failed(away.position())
    expect(isError(none, 'StoreUnavailable') && none.store).toBe(closed.url)
    await expect(away.follow()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      _tag: 'StoreUnavailable',
    })
  })

  test('is one small file that needs nothing: no package, no Node', async () => {
    const code = readFileSync(join(await builtPackage(), 'dist/server/client/index.js'), 'utf8')
    expect(code).not.toMatch(/\bimport\b|\brequire\(|\bprocess\b|\bBuffer\b/)
    expect(gzipSync(code).length).toBeLessThanOrEqual(10 * 1024)
  })
})

describe('a client of a server whose index is behind', () => {
  /** Its index knows nothing at first, and everything when it is asked for the third time. */
  const behind = async (answer: object = {}) => {
    const store = await opened('memory:')
    for (const id of ['b', 'a']) await store.conversation(id).append(hello)
    const { catalogue } = store
    let asked = 0
    const isBehind = (): boolean => ++asked < 3
    const nothing = { titles: [], items: [], isComplete: false, ...answer }
    const { url } = await serving({
      store: {
        ...store,
        catalogue: {
          ...catalogue,
          search: async (...args) => (isBehind() ? nothing : catalogue.search(...args)),
          find: async (...args) => (isBehind() ? { ...nothing, total: 0 } : catalogue.find(...args)),
        },
      },
    })
    return { client: openClient(url), asked: () => asked }
  }
  const found = async (
    hits: AsyncIterable<{ readonly conversation: string } | { readonly id: string }>,
  ): Promise<readonly string[]> => {
    const ids = []
    for await (const hit of hits) ids.push('id' in hit ? hit.id : hit.conversation)
    return ids
  }

  test('finds everything, once it is indexed', async () => {
    expect(await found((await behind()).client.search('is it there'))).toEqual(['a', 'b'])
    expect(await found((await behind()).client.conversation('a').search('is it there'))).toEqual(['a'])
    expect(await found((await behind()).client.conversations({ sort: 'id' }))).toEqual(['a', 'b'])
  })

  test('lists in the order of the store without waiting', async () => {
    const { client, asked } = await behind()
    expect(await found(client.conversations())).toEqual(['a', 'b'])
    expect(asked()).toBe(1)
  })

  test('does not wait for what cannot be indexed', async () => {
    const { client, asked } = await behind({ problem: 'an event cannot be read' })
    expect(await found(client.search('is it there'))).toEqual([])
    expect(await found(client.conversations({ sort: 'id' }))).toEqual([])
    expect(asked()).toBe(2)
  })

  test('waits no longer than it is wanted to', async () => {
    const { client } = await behind({ isComplete: false })
    const ends = new AbortController()
    const searching = found(client.search('is it there', { signal: ends.signal }))
    ends.abort()
    await expect(searching).rejects.toThrow('aborted')
  })
})
