import assert from 'node:assert/strict'
import { hashOf } from '../../events/codec.ts'
import { type ContractRule, backwards, event, events, forwards, ids, errorOf, right } from './support.ts'

/** Contract rules for reading one stream and for listing streams. */
export const streams: readonly ContractRule[] = [
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
    title: 'a page has fewer events than are asked for only where the stream ends, or if it has much data',
    run: async (store) => {
      const small = Array.from({ length: 60 }, (_, n) => event(`${n} `.padEnd(900, 'x')))
      await right(store.append({ stream: 'a', events: small, expected: -1 }))
      assert.deepEqual(ids(await forwards(store, 'a')), ids(small))
      assert.deepEqual(ids(await backwards(store, 'a', 59, 200)), ids(small.toReversed()))
      const large = Array.from({ length: 40 }, (_, n) => event(`${n} `.padEnd(6_000, 'x')))
      await right(store.append({ stream: 'b', events: large, expected: -1 }))
      const read: string[] = []
      for (
        let page = await forwards(store, 'b');
        page.length > 0;
        page = await forwards(store, 'b', read.length)
      )
        read.push(...ids(page))
      assert.deepEqual(read, ids(large))
    },
  },
  {
    title: 'the first event of an append that may be repeated is found by its id, in its own stream only',
    run: async (store) => {
      const written = events(5)
      const [, , third] = written
      await right(store.append({ stream: 'a', events: written.slice(0, 2), expected: -1 }))
      await right(store.append({ stream: 'a', events: written.slice(2), expected: 1, repeat: 'first' }))
      await right(store.append({ stream: 'b', events: [event()], expected: -1, repeat: 'first' }))
      assert.deepEqual(await right(store.find('a', third?.id ?? '')), { revision: 2, through: 4 })
      assert.deepEqual(await right(store.find('b', third?.id ?? '')), { revision: undefined, through: 0 })
    },
  },
  {
    title: 'events are counted by type up to a revision',
    run: async (store) => {
      const written = [event(), event('', 'Truncated'), event(), event('', 'Rewound'), event('', 'Truncated')]
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      // A store that would have to read all events to count them returns undefined.
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
    title: 'streams are listed by prefix, newest first, a page at a time',
    run: async (store) => {
      for (const stream of ['b-2', 'a-10', 'a-1', 'a-2', 'A-1'])
        await right(store.append({ stream, events: [event()], expected: -1 }))
      await right(store.append({ stream: 'a-10', events: [event()], expected: 0 }))
      assert.deepEqual(await right(store.newest(['a-'], undefined, 2)), ['a-2', 'a-1'])
      assert.deepEqual(await right(store.newest(['a-'], 'a-1', 2)), ['a-10'])
      assert.deepEqual(await right(store.newest(['a-'], 'a-10', 2)), [])
      assert.deepEqual(await right(store.newest([''], undefined, 9)), ['A-1', 'a-2', 'a-1', 'a-10', 'b-2'])
      await right(store.append({ stream: 'a-3', events: [event()], expected: -1 }))
      assert.deepEqual(await right(store.newest(['a-'], undefined, 2)), ['a-3', 'a-2'])
    },
  },
  {
    title:
      'streams of several prefixes are listed together, in the order in which they were begun, newest first',
    run: async (store) => {
      const append = (stream: string, expected = -1): Promise<unknown> =>
        right(store.append({ stream, events: [event()], expected }))
      for (const stream of ['a-1', 'b-1', 'a-2', 'c-1', 'b-2', 'a-3']) await append(stream)
      for (const stream of ['a-1', 'b-1']) await append(stream, 0)
      const prefixes = ['b-', 'a-']
      assert.deepEqual(await right(store.newest(prefixes, undefined, 3)), ['a-3', 'b-2', 'a-2'])
      assert.deepEqual(await right(store.newest(prefixes, 'a-2', 3)), ['b-1', 'a-1'])
      assert.deepEqual(await right(store.newest(['a-', 'a-1'], 'b-2', 3)), ['a-2', 'a-1'])
      assert.deepEqual(await right(store.newest(['c-'], 'b-2', 3)), ['c-1'])
      assert.deepEqual(await right(store.newest([], undefined, 3)), [])
    },
  },
  {
    title: 'an append that is refused, or repeated, does not make its stream a newer one',
    run: async (store) => {
      const first = event()
      await right(store.append({ stream: 'a-1', events: [first], expected: -1 }))
      await right(store.append({ stream: 'a-2', events: [event()], expected: -1 }))
      await errorOf(store.append({ stream: 'a-1', events: [event()], expected: -1 }))
      await right(store.append({ stream: 'a-1', events: [first], expected: -1 }))
      assert.deepEqual(await right(store.newest(['a-'], undefined, 3)), ['a-2', 'a-1'])
    },
  },
  {
    title: 'the streams written since a checkpoint are known; an unknown one means that all may have been',
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
]
