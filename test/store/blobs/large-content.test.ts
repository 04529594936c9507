import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { palimpsestLine, palimpsestLines } from '../../../src/transfer/formats/write-palimpsest.ts'
import type { StoredEvent } from '../../../src/events/codec.ts'
import type { Event } from '../../../src/events/events.ts'
import { promiseStore, type Store } from '../../../src/api/promises.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { BlobInfo, EventStore } from '../../../src/store/port.ts'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { layeredStore } from '../../../src/store/whole/layered-store.ts'
import { describe, expect, test } from 'vitest'
import { left, right } from '../../support/either.ts'
import { chainOf, write } from '../../support/write.ts'
import { user } from '../../support/log.ts'
import { stores } from '../../support/stores.ts'
import { png } from '../../support/pictures.ts'

const mebibyte = 1024 * 1024
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const on = (events: EventStore, largeContent?: number): Store =>
  promiseStore(taskStore(storeOn(events, { kind: 'test' }, largeContent)))
const eventOf = (event: Event): StoredEvent => {
  const [stored] = chainOf('c', [event])
  if (!stored) throw new Error('no event')
  return stored
}
const said = (content: string) => ({ role: 'user', content }) as const
const blobsOf = async (events: EventStore): Promise<readonly BlobInfo[]> => {
  const infos: BlobInfo[] = []
  for await (const info of events.blobs.list()) infos.push(info)
  return infos
}
const exported = async (store: Store, id: string): Promise<string> => {
  const lines: string[] = []
  for await (const line of palimpsestLines(store.conversation(id).stored())) lines.push(line)
  return lines.join('')
}
const large = 'Large "content"\n'.repeat(10_000)

describe.each(Object.entries(stores))('large content on the %s store', (name, open) => {
  test('is stored outside its event, under the hash of its value, and readers get it back', async () => {
    const events = await open()
    const chat = on(events).conversation('c')
    await chat.append([said('small'), said(large), said('after')])
    expect(await blobsOf(events)).toMatchObject([{ sha256: sha256(large), bytes: large.length }])
    const stored = right(
      await events.read({ stream: 'conversation-c', from: 0, direction: 'forwards', limit: 9 })(),
    )
    expect(stored[1]?.data.length).toBeLessThan(200)
    expect(stored[1]?.metadata).toMatch(/^\{"\$blobs":\[\{"at":/)
    expect(stored[0]?.metadata).toMatch(/^\{"salt":"[\w-]{22}","schema":/)
    expect(await chat.effective()).toMatchObject([
      { content: [{ text: 'small' }] },
      { content: [{ text: large }] },
      { content: [{ text: 'after' }] },
    ])
    await events.close()()
  })

  test('a string of exactly the threshold stays in its event; one of a byte more does not', async () => {
    const events = await open()
    const store = on(events, 2_000)
    await store.conversation('c').append(said('x'.repeat(2_000)))
    expect(await blobsOf(events)).toEqual([])
    await store.conversation('c').append(said('x'.repeat(2_001)))
    expect(await blobsOf(events)).toHaveLength(1)
    await events.close()()
  })

  test('is stored once in however many conversations it is', async () => {
    const events = await open()
    const store = on(events)
    const text = 'x'.repeat(70_000)
    for (let n = 0; n < 10; n++) await store.conversation(`c${n}`).append(said(text))
    expect(await blobsOf(events)).toMatchObject([{ sha256: sha256(text), bytes: 70_000 }])
    expect(await store.conversation('c9').effective()).toMatchObject([{ content: [{ text }] }])
    await events.close()()
  })

  test('verifies, and moves to a store of another threshold to the byte', async () => {
    const [first, second] = [await open(), await open()]
    const [from, to] = [on(first), on(second, 1_024)]
    const chat = from.conversation('c')
    await chat.append([said(large), said('y'.repeat(5_000)), said('z')])
    await chat.truncate({ covers: { first: 1, last: 1 } })
    await chat.append(said(large))
    const text = await exported(from, 'c')
    await to.importSession({ text, file: 'c.jsonl' })
    expect(await exported(to, 'c')).toBe(text)
    for (const store of [from, to])
      expect(await store.conversation('c').verify()).toEqual({ conversation: 'c', events: 5 })
    expect([await blobsOf(first), await blobsOf(second)].map((infos) => infos.length)).toEqual([1, 2])
    expect((await to.importSession({ text, file: 'c.jsonl' })).conversations).toEqual([
      { id: 'c', added: 0, events: 5 },
    ])
    await first.close()()
    await second.close()()
  })

  test('followers and readers of everything get it back, too', async () => {
    const events = await open()
    const store = on(events)
    await store.conversation('c').append(said(large))
    for await (const { event } of store.readAll())
      expect(event.data).toMatchObject({ content: [{ text: large }] })
    for await (const followed of store.follow()) {
      expect(followed.type === 'event' && followed.event.data).toMatchObject({ content: [{ text: large }] })
      break
    }
    await events.close()()
  })

  // The largest image that a model takes has 5 MB of base64; the slower stores need only put several chunks together.
  const largest = name === 'memory' ? 3_750_000 : 900_000

  test(`a session with images, one of ${largest} bytes, is imported, twice the same, and exported`, async () => {
    const events = await open()
    const store = on(events)
    const image = (n: number, bytes: number) => ({
      role: 'user',
      content: [
        { type: 'text', text: `image ${n}` },
        {
          type: 'image',
          source: {
            type: 'base64',
            media_type: 'image/png',
            data: png(n, n, bytes).toString('base64'),
          },
        },
      ],
    })
    const [first, second] = [image(1, largest), image(2, 75_000)]
    const messages = [first, { role: 'assistant', content: 'I see.' }, second, first]
    const session = { text: JSON.stringify(messages), file: 'images.json', id: 'c' }
    await store.importSession(session)
    expect(await store.conversation('c').effective()).toMatchObject(messages.map(({ role }) => ({ role })))
    const { messages: rendered } = await store.conversation('c').render()
    expect(rendered[0]).toEqual(messages[0])
    expect((await store.importSession(session)).conversations).toMatchObject([{ added: 0 }])
    expect(await blobsOf(events)).toHaveLength(2)
    expect(await store.conversation('c').verify()).toEqual({ conversation: 'c', events: 4 })
    await events.close()()
  })

  test('that is missing is a typed error; verify and the list say so, and other conversations are as they were', async () => {
    const events = await open()
    const store = on(events)
    await store.conversation('a').append(said('fine'))
    await store.conversation('b').append([said('first'), said(large), said('last')])
    await new Promise((resolve) => setTimeout(resolve, 5))
    right(await events.blobs.remove(sha256(large), new Date())())
    const stored = right(
      await events.read({ stream: 'conversation-b', from: 0, direction: 'forwards', limit: 9 })(),
    )
    const missing = {
      _tag: 'BlobMissing',
      stream: 'conversation-b',
      revision: 1,
      event: stored[1]?.id,
      sha256: sha256(large),
    }
    await expect(store.conversation('b').effective()).rejects.toMatchObject(missing)
    await expect(store.conversation('b').effective()).rejects.toThrow(sha256(large))
    expect(await store.conversation('b').verify()).toMatchObject({
      events: 1,
      discrepancy: { position: 1, kind: 'content', message: expect.stringContaining(sha256(large)) },
    })
    expect(await store.conversation('a').verify()).toEqual({ conversation: 'a', events: 1 })
    const problems = []
    for await (const { id, problem } of store.conversations()) problems.push([id, problem !== undefined])
    expect(problems).toEqual([
      ['b', true],
      ['a', false],
    ])
    await events.close()()
  })

  test('an event that says for itself that it has content outside is refused, and nothing of its file is written', async () => {
    const events = await open()
    const store = on(events)
    const wrapped = layeredStore(events, 65_536)
    const plain = eventOf(user('x'))
    const forged = { ...plain, metadata: plain.metadata.replace('{', '{"$blobs":[],') }
    const append = { stream: 'conversation-c', events: [forged], expected: -1 }
    expect(left(await wrapped.append(append)())).toMatchObject({ _tag: 'InvalidInput' })
    await store.conversation('d').append(said('x'))
    const line = palimpsestLine({ conversation: 'c', revision: 0, ...forged })
    const fine = (await exported(store, 'd')).replace('"conversation":"d"', '"conversation":"e"')
    const text = `${fine}${line}`
    await expect(store.importSession({ text, file: 'f.jsonl' })).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
    expect(right(await events.streams('', '', 9)())).toEqual(['conversation-d'])
    await events.close()()
  })
})

describe('damaged content', () => {
  const damaged = async (change: (events: EventStore) => EventStore) => {
    const events = memoryStore()
    const healthy = on(events)
    await healthy.conversation('c').append([said('first'), said(large)])
    return on(change(events)).conversation('c')
  }
  const withBytes = (bytes: () => Uint8Array) => (events: EventStore) => ({
    ...events,
    blobs: {
      ...events.blobs,
      get: async function* () {
        yield bytes()
      },
    },
  })

  test.each([
    ['other bytes', withBytes(() => Buffer.from(large.replace('L', 'l')))],
    ['fewer bytes', withBytes(() => Buffer.from(large.slice(1)))],
    [
      'a place that is gone from the event',
      (events: EventStore): EventStore => ({
        ...events,
        read: (range) => async () =>
          E.map(
            (page: readonly { readonly data: string }[]) =>
              page.map((event) => ({ ...event, data: event.data.replace('sha256:', 'sha257:') })) as never,
          )(await events.read(range)()),
      }),
    ],
  ])('%s is BlobDamaged, which names event and hash', async (_, change) => {
    const chat = await damaged(change)
    const error = { _tag: 'BlobDamaged', stream: 'conversation-c', revision: 1, sha256: sha256(large) }
    await expect(chat.effective()).rejects.toMatchObject(error)
    expect(await chat.verify()).toMatchObject({ events: 1, discrepancy: { position: 1, kind: 'content' } })
  })

  test('what a store throws while a blob is read is its error', async () => {
    const chat = await damaged((events) => ({
      ...events,
      blobs: {
        ...events.blobs,
        get: () => {
          throw Object.assign(new Error('gone'), { _tag: 'StoreUnavailable' })
        },
      },
    }))
    await expect(chat.effective()).rejects.toMatchObject({ _tag: 'StoreUnavailable' })
  })

  test('references that cannot be read are DecodeFailed', async () => {
    const events = memoryStore()
    const broken = { ...eventOf(user('x')), metadata: '{"$blobs":[7],"schema":1}' }
    right(await events.append({ stream: 'conversation-c', events: [broken], expected: -1 })())
    await expect(on(events).conversation('c').effective()).rejects.toMatchObject({ _tag: 'DecodeFailed' })
    right(await events.blobs.put(sha256(large), [Buffer.from(large)])())
    await new Promise((resolve) => setTimeout(resolve, 2))
    await expect(on(events).gc({ olderThan: new Date() })).rejects.toMatchObject({ _tag: 'DecodeFailed' })
    expect(await blobsOf(events)).toHaveLength(1)
  })
})

describe('what is too large to store', () => {
  const sizeOf = ({ data, metadata }: StoredEvent): number =>
    Buffer.byteLength(data) + Buffer.byteLength(metadata)
  const ofTexts = (lengths: readonly number[]): StoredEvent =>
    eventOf(user(lengths.map((length) => ({ type: 'text', text: 'x'.repeat(length) }))))
  /** An event of many strings, each below the threshold, and together of so many bytes. */
  const ofBytes = (bytes: number): StoredEvent => {
    const none = Array.from({ length: 300 }, () => 0)
    const room = bytes - sizeOf(ofTexts(none))
    return ofTexts(none.map((_, n) => Math.floor(room / 300) + (n < room % 300 ? 1 : 0)))
  }
  const appended = async (event: StoredEvent) => {
    const events = memoryStore()
    return layeredStore(events, 65_536).append({ stream: 's', events: [event], expected: -1 })()
  }

  test('an event of exactly 16 MiB is stored, and one of a byte more is EventTooLarge', async () => {
    expect(E.isRight(await appended(ofBytes(16 * mebibyte)))).toBe(true)
    const error = left(await appended(ofBytes(16 * mebibyte + 1)))
    expect(error).toMatchObject({
      _tag: 'EventTooLarge',
      bytes: 16 * mebibyte + 1,
      limit: 16 * mebibyte,
      message: expect.stringMatching(/^the event is 16\.0 MiB of JSON, without.*at most 16\.0 MiB\. Split/),
    })
  })

  test('the metadata counts, and bytes count, not characters', async () => {
    const event = ofBytes(16 * mebibyte)
    const euro = { ...event, data: event.data.replace('xx', '€x') }
    expect(left(await appended(euro))).toMatchObject({ bytes: 16 * mebibyte + 2 })
    const metadata = event.metadata.replace('"kind":"test"', '"kind":"tests"')
    expect(left(await appended({ ...event, metadata }))).toMatchObject({ bytes: 16 * mebibyte + 1 })
  })

  test('large strings do not count: a message of 20 MiB is stored and comes back', async () => {
    const store = on(memoryStore())
    const text = 'x'.repeat(20 * mebibyte)
    await store.conversation('c').append(said(text))
    expect(await store.conversation('c').effective()).toMatchObject([{ content: [{ text }] }])
  })

  const limited = (most: number): EventStore => {
    const events = memoryStore()
    return {
      ...events,
      maxAppendBytes: most,
      append: (request) => {
        if (request.events.reduce((sum, event) => sum + sizeOf(event), 0) > most)
          throw new Error('more than the store takes')
        return events.append(request)
      },
    }
  }

  test('where an append takes less, the largest strings go outside until it fits', async () => {
    const events = limited(20_000)
    const store = on(events)
    const texts = [3_000, 9_000, 5_000, 8_000].map((length) => 'x'.repeat(length))
    await store.conversation('c').append(texts.map(said))
    expect((await blobsOf(events)).map(({ bytes }) => bytes)).toEqual([9_000])
    expect(await store.conversation('c').effective()).toMatchObject(
      texts.map((text) => ({ content: [{ text }] })),
    )
    expect(await store.conversation('c').verify()).toMatchObject({ events: 4 })
  })

  test('an import goes in batches that fit', async () => {
    const events = limited(20_000)
    const store = on(events)
    const text = JSON.stringify(Array.from({ length: 100 }, (_, n) => said(`${n} ${'x'.repeat(1_000)}`)))
    await store.importSession({ text, file: 'f.json', id: 'c' })
    expect(await blobsOf(events)).toEqual([])
    expect(await store.conversation('c').verify()).toMatchObject({ events: 100 })
  })

  test('what cannot be made to fit is EventTooLarge, and nothing of it is written', async () => {
    const events = limited(20_000)
    const store = on(events)
    const many = {
      type: 'tool_use' as const,
      id: 't',
      name: 'n',
      input: { list: Array.from({ length: 10_000 }, () => 12) },
    }
    const message = { role: 'assistant', content: [many, { type: 'text', text: large }] } as const
    const error = { _tag: 'EventTooLarge', limit: 20_000 }
    await expect(store.conversation('c').append(message)).rejects.toMatchObject(error)
    const text = JSON.stringify([said('fine'), message])
    await expect(store.importSession({ text, file: 'f.json', id: 'c' })).rejects.toMatchObject({
      ...error,
      message: expect.stringMatching(/^event 1 of c: /),
    })
    expect(await blobsOf(events)).toEqual([])
    expect(right(await events.streams('', '', 9)())).toEqual([])
  })
})

describe('a store with large content', () => {
  test('closes when the appends under way are done', async () => {
    const store = on(memoryStore())
    const appending = store.conversation('c').append(said(large))
    await new Promise(setImmediate)
    const second = store.conversation('c').append(said(`${large}!`))
    await Promise.all([store.close(), expect(appending).resolves.toMatchObject({ position: 0 })])
    await expect(second).resolves.toMatchObject({ position: 1 })
  })

  test('keeps the order of messages, whatever their size', async () => {
    const chat = on(memoryStore()).conversation('c')
    const texts = Array.from({ length: 20 }, (_, n) => (n % 3 === 0 ? `${n} ${large}` : `${n}`))
    await Promise.all(texts.map((text) => chat.append(said(text))))
    expect(await chat.effective()).toMatchObject(texts.map((text) => ({ content: [{ text }] })))
  })

  test('reads each blob of a page once', async () => {
    const events = memoryStore()
    let reads = 0
    const counting: EventStore = {
      ...events,
      blobs: {
        ...events.blobs,
        get: (hash) => {
          reads++
          return events.blobs.get(hash)
        },
      },
    }
    await write(layeredStore(events, 1_024), 'c', [user(large), user('x'), user(large), user(`${large}!`)])
    const store = layeredStore(counting, 1_024)
    const page = right(
      await store.read({ stream: 'conversation-c', from: 0, direction: 'forwards', limit: 9 })(),
    )
    expect(page.map(({ data }) => data.length > 1_024)).toEqual([true, false, true, true])
    expect(reads).toBe(2)
  })

  test('a page holds no more of it than fits into memory; who reads on gets it all', async () => {
    const events = memoryStore()
    const store = on(events)
    const chat = store.conversation('c')
    const messages = Array.from({ length: 10 }, (_, n) => said(String(n % 3).repeat(5 * mebibyte)))
    const command = { commandId: 'ten' }
    const first = await chat.append(messages, command)
    const wrapped = layeredStore(events, 65_536)
    const page = right(
      await wrapped.read({ stream: 'conversation-c', from: 3, direction: 'forwards', limit: 99 })(),
    )
    const all = right(await wrapped.readAll({ limit: 99 })())
    expect([page.length, all.events.length, all.checkpoint]).toEqual([6, 6, all.events[5]?.checkpoint])
    const lengths: number[] = []
    for await (const event of chat.events()) lengths.push(JSON.stringify(event.data).length)
    expect(lengths).toHaveLength(10)
    expect(Math.min(...lengths)).toBeGreaterThan(5 * mebibyte)
    expect(await chat.append(messages, command)).toEqual(first)
    expect(await chat.verify()).toEqual({ conversation: 'c', events: 10 })
  })

  test.each([0, 1_023, 1_024.5, '65536', Number.NaN, Infinity])(
    'is not opened with a threshold of %s',
    async (largeContent) => {
      const { openStore } = await import('palimpsest')
      const opening = openStore('memory:', { largeContent: largeContent as number })
      await expect(opening).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'largeContent' })
    },
  )
})
