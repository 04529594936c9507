import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { hashOf, type StoredEvent } from '../events/codec.ts'
import { newCommandId } from '../events/ids.ts'
import {
  type BlobInfo,
  blobChunk,
  type EventStore,
  type Followed,
  maxPage,
  type RecordedEvent,
} from '../store/port.ts'

/** One rule of the store port, and how to see that a store keeps it. `run` throws where it does not. */
export interface ContractCase {
  readonly title: string
  readonly run: (store: EventStore) => Promise<void>
}

const event = (text = 'hello', type = 'MessageAppended'): StoredEvent => ({
  id: newCommandId(),
  type,
  data: JSON.stringify({ role: 'user', content: [{ type: 'text', text }] }),
  metadata: JSON.stringify({ schema: 1, commandId: 'c', prev: null }),
})
const events = (n: number): readonly StoredEvent[] =>
  Array.from({ length: n }, (_, index) => event(`${index}`))

const right = async <A>(task: TaskEither<unknown, A>): Promise<A> => {
  const result = await task()
  assert.ok(E.isRight(result), JSON.stringify(result))
  return result.right
}
const left = async <Err>(task: TaskEither<Err, unknown>): Promise<Err> => {
  const result = await task()
  assert.ok(E.isLeft(result), 'it succeeded')
  return result.left
}
const forwards = (
  store: EventStore,
  stream: string,
  from = 0,
  limit = maxPage,
): Promise<readonly RecordedEvent[]> => right(store.read({ stream, from, direction: 'forwards', limit }))
const backwards = (
  store: EventStore,
  stream: string,
  from: number,
  limit: number,
): Promise<readonly RecordedEvent[]> => right(store.read({ stream, from, direction: 'backwards', limit }))
const ids = (recorded: readonly StoredEvent[]): readonly string[] => recorded.map(({ id }) => id)
const texts = ({ id, type, data, metadata }: StoredEvent): StoredEvent => ({ id, type, data, metadata })

/** Follows until `enough`, then stops. */
const followed = async (
  store: EventStore,
  options: { readonly prefixes?: readonly string[]; readonly after?: string },
  enough: (seen: readonly Followed[]) => boolean,
): Promise<readonly Followed[]> => {
  const stop = new AbortController()
  const seen: Followed[] = []
  for await (const item of store.follow({ ...options, signal: stop.signal })) {
    seen.push(item)
    if (enough(seen)) stop.abort()
  }
  return seen
}
/** Where a store ends: a database that others use as well may be long, and a look through all of it too. */
const fromHere = async (store: EventStore): Promise<{ readonly after?: string }> => {
  const { checkpoint } = await right(store.changed('', undefined))
  return checkpoint === undefined ? {} : { after: checkpoint }
}
const followedIds = (seen: readonly Followed[]): readonly string[] =>
  seen.flatMap((item) => (item.type === 'event' ? [item.event.id] : []))

/** A blob of some chunks, the last one not full; the same number makes the same blob. */
const blobOf = (
  n: number,
  chunks = 1,
): { readonly sha256: string; readonly chunks: readonly Uint8Array[] } => {
  const all = Array.from({ length: chunks }, (_, index) =>
    new Uint8Array(index < chunks - 1 ? blobChunk : 1_000).fill(n + index),
  )
  const hash = createHash('sha256')
  for (const chunk of all) hash.update(chunk)
  return { sha256: hash.digest('hex'), chunks: all }
}
const bytesOf = async (store: EventStore, sha256: string): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  for await (const chunk of store.blobs.get(sha256)) chunks.push(chunk)
  return Buffer.concat(chunks)
}
const infosOf = async (store: EventStore): Promise<readonly BlobInfo[]> => {
  const infos: BlobInfo[] = []
  for await (const info of store.blobs.list()) infos.push(info)
  return infos.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1))
}
/** The time, once it is later than anything before. */
const later = async (): Promise<Date> => {
  const before = Date.now()
  while (Date.now() === before) await new Promise((resolve) => setTimeout(resolve, 1))
  return new Date()
}

/** What every event store must do; run each case on a store of its own, empty. */
export const storeContract: readonly ContractCase[] = [
  {
    title: 'a stream that is not there reads as empty, in both directions',
    run: async (store) => {
      assert.deepEqual(await forwards(store, 'none'), [])
      assert.deepEqual(await backwards(store, 'none', Number.MAX_SAFE_INTEGER, 1), [])
      assert.deepEqual(await right(store.find('none', 'x')), { revision: undefined, through: -1 })
      assert.equal(await right(store.keptEnd('none')), undefined)
      assert.deepEqual(await right(store.streams('', '', 10)), [])
      assert.deepEqual(await right(store.readAll({ limit: 10 })), { events: [], checkpoint: undefined })
    },
  },
  {
    title: 'events come back as they were written, to the byte, in order',
    run: async (store) => {
      const strange = {
        ...event('\u0000 "quoted" \\ 😀 \u2028'),
        data: String.raw`{"lone":"\ud800","__proto__":1}`,
      }
      const written = [event('first'), strange, event('third', 'Rewound')]
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      const read = await forwards(store, 'a')
      assert.deepEqual(read.map(texts), written)
      assert.deepEqual(
        read.map(({ stream, revision }) => [stream, revision]),
        [
          ['a', 0],
          ['a', 1],
          ['a', 2],
        ],
      )
    },
  },
  {
    title:
      'an append at the last revision goes behind it; at any other it is a conflict that names the actual one',
    run: async (store) => {
      const [first, second] = [event('1'), event('2')]
      await right(store.append({ stream: 'a', events: [first], expected: -1 }))
      for (const expected of [-1, 1, 7]) {
        const error = await left(store.append({ stream: 'a', events: [event()], expected }))
        assert.deepEqual(
          { ...error, message: '' },
          { _tag: 'Conflict', message: '', stream: 'a', expected, actual: 0 },
        )
      }
      await right(store.append({ stream: 'a', events: [second], expected: 0 }))
      assert.deepEqual(ids(await forwards(store, 'a')), [first.id, second.id])
      const error = await left(store.append({ stream: 'b', events: [event()], expected: 0 }))
      assert.equal(error._tag === 'Conflict' && error.actual, -1)
    },
  },
  {
    title: 'several events are written together or not at all',
    run: async (store) => {
      await right(store.append({ stream: 'a', events: events(3), expected: -1 }))
      await left(store.append({ stream: 'a', events: events(3), expected: 1 }))
      assert.equal((await forwards(store, 'a')).length, 3)
    },
  },
  {
    title:
      'the same events at the same place again succeed and write nothing, also when more came since, and the store says so, whatever their texts',
    run: async (store) => {
      const written = events(2)
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      await right(store.append({ stream: 'a', events: [event()], expected: 1 }))
      assert.equal(await right(store.append({ stream: 'a', events: written, expected: -1 })), 'repeated')
      const others = written.map((one) => ({
        ...one,
        metadata: JSON.stringify({ schema: 1, commandId: 'other' }),
      }))
      assert.equal(await right(store.append({ stream: 'a', events: others, expected: -1 })), 'repeated')
      assert.deepEqual((await forwards(store, 'a')).map(texts).slice(0, 2), written)
      assert.equal((await forwards(store, 'a')).length, 3)
      const [first = event()] = written
      await left(store.append({ stream: 'a', events: [first, event()], expected: -1 }))
    },
  },
  {
    title: 'of those who append the same events at once, one has written them, and the others are told',
    run: async (store) => {
      const written = events(2)
      const outcomes = await Promise.all(
        Array.from({ length: 5 }, () => right(store.append({ stream: 'a', events: written, expected: -1 }))),
      )
      assert.equal(outcomes.filter((outcome) => outcome === 'written').length, 1)
      assert.equal(outcomes.filter((outcome) => outcome === 'repeated').length, 4)
      assert.deepEqual((await forwards(store, 'a')).map(texts), written)
    },
  },
  {
    title: 'what could not be kept, or not given back the same, is InvalidInput and writes nothing',
    run: async (store) => {
      const one = event()
      const wrong: readonly object[] = [
        ...[undefined, null, 5, '', '\ud800'].map((stream) => ({ stream })),
        ...[undefined, null, '0', -2, 0.5, Number.NaN, Infinity, 2 ** 53].map((expected) => ({ expected })),
        ...[undefined, null, 'e', [], {}, [null], ['e']].map((wanted) => ({ events: wanted })),
        ...[undefined, 5, Object('x'), '', '\udc00'].flatMap((text) => [
          { events: [one, { ...one, id: text }] },
          { events: [one, { ...one, type: text }] },
        ]),
        ...[undefined, 5, Object('{}'), '\udc00'].flatMap((text) => [
          { events: [{ ...one, data: text }] },
          { events: [{ ...one, metadata: text }] },
        ]),
      ]
      for (const fields of wrong) {
        const request = { stream: 'a', events: [one], expected: -1, ...fields }
        assert.equal((await left(store.append(request)))._tag, 'InvalidInput', JSON.stringify(fields))
      }
      assert.deepEqual(await right(store.streams('', '', 10)), [])
    },
  },
  {
    title: 'an append is what it was when it was asked for',
    run: async (store) => {
      const [one, two] = [event('one'), event('two')]
      const own = [{ ...one }]
      const request = { stream: 'a', events: own, expected: -1 }
      const appended = store.append(request)()
      request.stream = 'b'
      Object.assign(own[0] ?? {}, { data: '{}' })
      own.push(two)
      assert.ok(E.isRight(await appended))
      assert.deepEqual((await forwards(store, 'a')).map(texts), [one])
      assert.deepEqual(await right(store.streams('', '', 10)), ['a'])
    },
  },
  {
    title: 'of appends at the same revision at once exactly one succeeds',
    run: async (store) => {
      const tries = Array.from({ length: 20 }, () =>
        store.append({ stream: 'a', events: [event()], expected: -1 })(),
      )
      const outcomes = await Promise.all(tries)
      assert.equal(outcomes.filter(E.isRight).length, 1)
      assert.equal((await forwards(store, 'a')).length, 1)
    },
  },
  {
    title: 'appends to many streams at once each have an outcome of their own',
    run: async (store) => {
      await right(store.append({ stream: 's3', events: [event()], expected: -1 }))
      const tries = Array.from({ length: 8 }, (_, n) =>
        store.append({ stream: `s${n}`, events: [event()], expected: -1 })(),
      )
      const outcomes = await Promise.all(tries)
      assert.deepEqual(outcomes.map(E.isRight), [true, true, true, false, true, true, true, true])
    },
  },
  {
    title:
      'reads take a page from a revision on, forwards and backwards; backwards from beyond the end begins at the end',
    run: async (store) => {
      const written = events(25)
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      assert.deepEqual(ids(await forwards(store, 'a', 20, 3)), ids(written.slice(20, 23)))
      assert.deepEqual(ids(await forwards(store, 'a', 24)), ids(written.slice(24)))
      assert.deepEqual(await forwards(store, 'a', 25), [])
      assert.deepEqual(ids(await backwards(store, 'a', 5, 3)), ids(written.slice(3, 6).toReversed()))
      assert.deepEqual(ids(await backwards(store, 'a', 1, 10)), ids(written.slice(0, 2).toReversed()))
      assert.deepEqual(
        ids(await backwards(store, 'a', Number.MAX_SAFE_INTEGER, 2)),
        ids(written.slice(23).toReversed()),
      )
    },
  },
  {
    title: 'the first event of a findable append is found by its id, in its own stream only',
    run: async (store) => {
      const written = events(5)
      const [, , third] = written
      await right(store.append({ stream: 'a', events: written.slice(0, 2), expected: -1 }))
      await right(store.append({ stream: 'a', events: written.slice(2), expected: 1, findable: true }))
      await right(store.append({ stream: 'b', events: [event()], expected: -1, findable: true }))
      assert.deepEqual(await right(store.find('a', third?.id ?? '')), { revision: 2, through: 4 })
      assert.deepEqual(await right(store.find('b', third?.id ?? '')), { revision: undefined, through: 0 })
    },
  },
  {
    title: 'events are counted by type up to a revision',
    run: async (store) => {
      const written = [event(), event('', 'Truncated'), event(), event('', 'Rewound'), event('', 'Truncated')]
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      // A store that would have to read all events to count them does not.
      if ((await right(store.count('a', 'MessageAppended', 1))) === undefined) return
      const counts = async (type: string): Promise<readonly (number | undefined)[]> =>
        Promise.all([-1, 0, 1, 2, 3, 4, 99].map((through) => right(store.count('a', type, through))))
      assert.deepEqual(await counts('MessageAppended'), [0, 1, 1, 2, 2, 2, 2])
      assert.deepEqual(await counts('Truncated'), [0, 0, 1, 1, 1, 2, 2])
      assert.equal(await right(store.count('none', 'MessageAppended', 5)), 0)
    },
  },
  {
    title:
      'what a store keeps of a stream, if it keeps anything, is true of an event at its end or before it',
    run: async (store) => {
      const written = events(3)
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      const kept = await right(store.keptEnd('a'))
      const ended = kept && written[kept.last]
      if (kept) assert.equal(kept.hash, ended && hashOf(ended))
    },
  },
  {
    title: 'streams are listed by prefix, in order of their names, a page at a time',
    run: async (store) => {
      for (const stream of ['b-2', 'a-10', 'a-1', 'a-2', 'A-1'])
        await right(store.append({ stream, events: [event()], expected: -1 }))
      assert.deepEqual(await right(store.streams('a-', '', 2)), ['a-1', 'a-10'])
      assert.deepEqual(await right(store.streams('a-', 'a-10', 2)), ['a-2'])
      assert.deepEqual(await right(store.streams('', '', 10)), ['A-1', 'a-1', 'a-10', 'a-2', 'b-2'])
    },
  },
  {
    title: 'streams are listed by prefix, those that began last first, a page at a time',
    run: async (store) => {
      for (const stream of ['b-2', 'a-10', 'a-1', 'a-2', 'A-1'])
        await right(store.append({ stream, events: [event()], expected: -1 }))
      await right(store.append({ stream: 'a-10', events: [event()], expected: 0 }))
      assert.deepEqual(await right(store.newest('a-', undefined, 2)), ['a-2', 'a-1'])
      assert.deepEqual(await right(store.newest('a-', 'a-1', 2)), ['a-10'])
      assert.deepEqual(await right(store.newest('a-', 'a-10', 2)), [])
      assert.deepEqual(await right(store.newest('', undefined, 9)), ['A-1', 'a-2', 'a-1', 'a-10', 'b-2'])
      await right(store.append({ stream: 'a-3', events: [event()], expected: -1 }))
      assert.deepEqual(await right(store.newest('a-', undefined, 2)), ['a-3', 'a-2'])
    },
  },
  {
    title: 'which streams were written since a checkpoint is known; where it is not, all may have been',
    run: async (store) => {
      for (const stream of ['a-1', 'a-2', 'b-1'])
        await right(store.append({ stream, events: [event()], expected: -1 }))
      const first = await right(store.changed('a-', undefined))
      assert.equal(first.streams, undefined)
      const none = await right(store.changed('a-', first.checkpoint))
      assert.deepEqual([...(none.streams ?? ['any'])], [])
      for (const stream of ['a-2', 'b-1'])
        await right(store.append({ stream, events: [event()], expected: 0 }))
      await right(store.append({ stream: 'a-3', events: [event()], expected: -1 }))
      const some = await right(store.changed('a-', none.checkpoint))
      assert.deepEqual([...(some.streams ?? ['any'])].toSorted(), ['a-2', 'a-3'])
    },
  },
  {
    title:
      'all events have one global order, which is the order of each stream; reading goes on behind a checkpoint',
    run: async (store) => {
      const order: string[] = []
      for (let n = 0; n < 10; n++) {
        const one = event()
        order.push(one.id)
        await right(store.append({ stream: `s${n % 3}`, events: [one], expected: Math.floor(n / 3) - 1 }))
      }
      const first = await right(store.readAll({ limit: 4 }))
      const rest = await right(store.readAll({ limit: 100, after: first.checkpoint }))
      const end = await right(store.readAll({ limit: 100, after: rest.checkpoint }))
      assert.deepEqual([...ids(first.events), ...ids(rest.events)], order)
      assert.deepEqual(end, { events: [], checkpoint: rest.checkpoint })
    },
  },
  {
    title: 'what is no checkpoint of this store is InvalidInput, for readers and for followers',
    run: async (store) => {
      await right(store.append({ stream: 'a', events: events(3), expected: -1 }))
      const { checkpoint = '' } = await right(store.readAll({ limit: 3 }))
      const others = [
        '',
        'x',
        '-1',
        '1.5',
        'NaN',
        '1e3',
        '0x1',
        ' 1',
        '9999999999',
        `${checkpoint}x`,
        `0${checkpoint}x`,
      ]
      const beyond = ['9007199254740991', '9223372036854775807/9223372036854775807', '99-99999999']
      const untyped = [null, Number.NaN, -1, 0.5, 7, 1e9, {}, [], Object(checkpoint), true, 1n]
      for (const after of [...others, ...beyond, ...untyped] as readonly string[]) {
        const shown = inspect(after)
        assert.equal((await left(store.readAll({ after, limit: 3 })))._tag, 'InvalidInput', shown)
        await assert.rejects(
          followed(store, { after }, () => true),
          { _tag: 'InvalidInput' },
          shown,
        )
      }
    },
  },
  {
    title: 'a follower gets what is there, then what comes, from a checkpoint on, without a gap or a repeat',
    run: async (store) => {
      const written = events(30)
      const append = (n: number): Promise<unknown> =>
        right(store.append({ stream: 'a', events: written.slice(n, n + 1), expected: n - 1 }))
      for (let n = 0; n < 10; n++) await append(n)
      const all = followed(store, {}, (seen) => followedIds(seen).length === 30)
      for (let n = 10; n < 30; n++) await append(n)
      const seen = await all
      assert.deepEqual(followedIds(seen), ids(written))
      const after = seen.filter(({ type }) => type === 'event')[4]?.checkpoint ?? ''
      const rest = await followed(store, { after }, (some) => followedIds(some).length === 25)
      assert.deepEqual(followedIds(rest), ids(written.slice(5)))
    },
  },
  {
    title:
      'a follower of several prefixes gets their streams only, and learns how far the store was looked through',
    run: async (store) => {
      const wanted = [event('w1'), event('w2')]
      await right(store.append({ stream: 'x-1', events: [event()], expected: -1 }))
      await right(store.append({ stream: 'a-1', events: wanted.slice(0, 1), expected: -1 }))
      await right(store.append({ stream: 'b-1', events: wanted.slice(1), expected: -1 }))
      await right(store.append({ stream: 'x-2', events: events(100), expected: -1 }))
      const prefixes = ['a-', 'b-']
      const seen = await followed(
        store,
        { prefixes },
        (some) => followedIds(some).length === 2 && some.at(-1)?.type === 'checkpoint',
      )
      assert.deepEqual(followedIds(seen), ids(wanted))
      const after = seen.at(-1)?.checkpoint ?? ''
      const late = event('late')
      const more = followed(store, { prefixes, after }, (some) => followedIds(some).length === 1)
      await right(store.append({ stream: 'b-1', events: [late], expected: 0 }))
      assert.deepEqual(followedIds(await more), [late.id])
    },
  },
  {
    title:
      'followers that begin at any moment, quick and slow, get each event of their prefixes once, in order',
    run: async (store) => {
      const asked: readonly (readonly string[])[] = [
        [''],
        ['s-1'],
        ['s-', 's-1'],
        ['t-', 's-12'],
        ['s-1', 's-2'],
      ]
      const written: RecordedEvent[] = []
      const ofPrefixes = (prefixes: readonly string[]): readonly string[] =>
        ids(written.filter(({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix))))
      const revisions = new Map<string, number>()
      const append = async (stream: string, n: number): Promise<void> => {
        const some = events(n)
        const expected = revisions.get(stream) ?? -1
        await right(store.append({ stream, events: some, expected }))
        revisions.set(stream, expected + n)
        written.push(...some.map((one) => ({ ...one, stream, revision: 0, checkpoint: '' })))
      }
      const start = await fromHere(store)
      const stop = new AbortController()
      const all: {
        readonly prefixes: readonly string[]
        readonly seen: string[]
        readonly done: Promise<void>
      }[] = []
      const begin = (prefixes: readonly string[], pause: () => Promise<unknown>): void => {
        const seen: string[] = []
        const read = async (): Promise<void> => {
          for await (const item of store.follow({ ...start, prefixes, signal: stop.signal })) {
            if (item.type === 'event') seen.push(item.event.id)
            await pause()
          }
        }
        all.push({ prefixes, seen, done: read() })
      }
      for (let n = 0; n < 60; n++) {
        for (const [index, prefixes] of asked.entries())
          if (n % 12 === index)
            begin(prefixes, () => (index % 2 ? new Promise(setImmediate) : Promise.resolve()))
        await append(['s-1', 't-1', 's-12', 'u', 's-2'][n % 5] ?? '', n === 40 ? 2_500 : 1 + (n % 3))
        if (n % 4 === 0) await new Promise(setImmediate)
      }
      while (all.some(({ prefixes, seen }) => seen.length < ofPrefixes(prefixes).length))
        await new Promise((resolve) => setTimeout(resolve, 5))
      stop.abort()
      for (const { prefixes, seen, done } of all) {
        await done
        assert.deepEqual(seen, ofPrefixes(prefixes))
      }
    },
  },
  {
    title: 'sixteen followers each get every event',
    run: async (store) => {
      const written = events(50)
      const start = await fromHere(store)
      const followers = Array.from({ length: 16 }, () =>
        followed(store, start, (seen) => followedIds(seen).length === 50),
      )
      for (const [n, one] of written.entries())
        await right(store.append({ stream: 'a', events: [one], expected: n - 1 }))
      for (const seen of await Promise.all(followers)) assert.deepEqual(followedIds(seen), ids(written))
    },
  },
  {
    title: 'a blob comes back to the byte, in order, whatever number of chunks it has',
    run: async (store) => {
      for (const chunks of [1, 2, 5]) {
        const blob = blobOf(chunks, chunks)
        await right(store.blobs.put(blob.sha256, blob.chunks))
        assert.ok((await bytesOf(store, blob.sha256)).equals(Buffer.concat(blob.chunks)))
      }
    },
  },
  {
    title: 'a blob that is not there has no bytes, and is not listed',
    run: async (store) => {
      assert.equal((await bytesOf(store, blobOf(1).sha256)).length, 0)
      assert.deepEqual(await infosOf(store), [])
      await right(store.blobs.remove(blobOf(1).sha256, new Date()))
    },
  },
  {
    title:
      'blobs are listed with their bytes and the time of the last put; one that is put twice is kept once',
    run: async (store) => {
      const [small, large] = [blobOf(1), blobOf(2, 3)]
      for (const blob of [small, large]) await right(store.blobs.put(blob.sha256, blob.chunks))
      const first = await infosOf(store)
      assert.deepEqual(
        new Map(first.map(({ sha256, bytes }) => [sha256, bytes])),
        new Map([
          [small.sha256, 1_000],
          [large.sha256, 2 * blobChunk + 1_000],
        ]),
      )
      await later()
      await right(store.blobs.put(large.sha256, large.chunks))
      const second = await infosOf(store)
      assert.equal(second.length, 2)
      for (const [index, { sha256, time }] of second.entries()) {
        const before = first[index]?.time.getTime() ?? Infinity
        assert.equal(time.getTime() > before, sha256 === large.sha256)
      }
      assert.ok((await bytesOf(store, large.sha256)).equals(Buffer.concat(large.chunks)))
    },
  },
  {
    title: 'a blob is removed unless it was put since; removed, it can be put again',
    run: async (store) => {
      const blob = blobOf(1, 2)
      const early = new Date(Date.now() - 60_000)
      await right(store.blobs.put(blob.sha256, blob.chunks))
      await right(store.blobs.remove(blob.sha256, early))
      assert.equal((await infosOf(store)).length, 1)
      await right(store.blobs.remove(blob.sha256, await later()))
      assert.deepEqual(await infosOf(store), [])
      assert.equal((await bytesOf(store, blob.sha256)).length, 0)
      await right(store.blobs.put(blob.sha256, blob.chunks))
      assert.ok((await bytesOf(store, blob.sha256)).equals(Buffer.concat(blob.chunks)))
      assert.equal((await infosOf(store)).length, 1)
    },
  },
  {
    title: 'of puts of one blob at once all succeed, and it is kept once, while appends go on',
    run: async (store) => {
      const blob = blobOf(1, 3)
      const puts = Array.from({ length: 10 }, () => right(store.blobs.put(blob.sha256, blob.chunks)))
      const appends = events(10).map((one, n) =>
        right(store.append({ stream: `s${n}`, events: [one], expected: -1 })),
      )
      await Promise.all([...puts, ...appends])
      assert.equal((await infosOf(store)).length, 1)
      assert.ok((await bytesOf(store, blob.sha256)).equals(Buffer.concat(blob.chunks)))
    },
  },
  {
    title: 'blobs are no events: neither streams nor readers of everything have them',
    run: async (store) => {
      const blob = blobOf(1)
      const one = event()
      await right(store.blobs.put(blob.sha256, blob.chunks))
      await right(store.append({ stream: 'a', events: [one], expected: -1 }))
      assert.deepEqual(await right(store.streams('', '', 10)), ['a'])
      const seen = await right(store.readAll({ limit: 10, prefixes: ['a'] }))
      assert.deepEqual(ids(seen.events), [one.id])
    },
  },
  {
    title: 'a closed store ends its followers and answers StoreClosed; closing twice is fine',
    run: async (store) => {
      await right(store.append({ stream: 'a', events: [event()], expected: -1 }))
      const seen: Followed[] = []
      const following = (async () => {
        for await (const item of store.follow({})) seen.push(item)
      })()
      while (seen.length === 0) await new Promise(setImmediate)
      await right(store.close())
      await following
      await right(store.close())
      const errors = [
        await left(store.append({ stream: 'a', events: [event()], expected: 0 })),
        await left(store.read({ stream: 'a', from: 0, direction: 'forwards', limit: 1 })),
        await left(store.readAll({ limit: 1 })),
        await left(store.blobs.put(blobOf(1).sha256, blobOf(1).chunks)),
      ]
      assert.deepEqual(
        errors.map(({ _tag }) => _tag),
        ['StoreClosed', 'StoreClosed', 'StoreClosed', 'StoreClosed'],
      )
      await assert.rejects(bytesOf(store, blobOf(1).sha256), { _tag: 'StoreClosed' })
      await assert.rejects(infosOf(store), { _tag: 'StoreClosed' })
    },
  },
]
