import assert from 'node:assert/strict'
import type { EventStore, RecordedEvent } from '../../store/port.ts'
import {
  type ContractRule,
  event,
  events,
  followUntil,
  idsOfFollowed,
  fromHere,
  ids,
  right,
} from './support.ts'

/** Contract rules for followers, which receive every event once, in order. */
export const following: readonly ContractRule[] = [
  {
    title: 'a follower gets what exists, then what comes, after a checkpoint, without gaps or repeats',
    run: async (store) => {
      const written = events(30)
      const append = (n: number): Promise<unknown> =>
        right(store.append({ stream: 'a', events: written.slice(n, n + 1), expected: n - 1 }))
      for (let n = 0; n < 10; n++) await append(n)
      const all = followUntil(store, {}, (seen) => idsOfFollowed(seen).length === 30)
      for (let n = 10; n < 30; n++) await append(n)
      const seen = await all
      assert.deepEqual(idsOfFollowed(seen), ids(written))
      const after = seen.filter(({ type }) => type === 'event')[4]?.checkpoint ?? ''
      const rest = await followUntil(store, { after }, (some) => idsOfFollowed(some).length === 25)
      assert.deepEqual(idsOfFollowed(rest), ids(written.slice(5)))
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
      const seen = await followUntil(
        store,
        { prefixes },
        (some) => idsOfFollowed(some).length === 2 && some.at(-1)?.type === 'checkpoint',
      )
      assert.deepEqual(idsOfFollowed(seen), ids(wanted))
      const after = seen.at(-1)?.checkpoint ?? ''
      const late = event('late')
      const more = followUntil(store, { prefixes, after }, (some) => idsOfFollowed(some).length === 1)
      await right(store.append({ stream: 'b-1', events: [late], expected: 0 }))
      assert.deepEqual(idsOfFollowed(await more), [late.id])
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
        followUntil(store, start, (seen) => idsOfFollowed(seen).length === 50),
      )
      for (const [n, one] of written.entries())
        await right(store.append({ stream: 'a', events: [one], expected: n - 1 }))
      for (const seen of await Promise.all(followers)) assert.deepEqual(idsOfFollowed(seen), ids(written))
    },
  },
  {
    // A number that is taken before the commit (a sequence) is no order: a reader of a later one does not look for an earlier one.
    title:
      'readers and followers miss no event of writers whose appends end in another order than they began',
    run: async (store) => {
      const start = await fromHere(store)
      const last = event('last')
      const isLast = ({ id }: RecordedEvent): boolean => id === last.id
      const followers = [1, 2].map(() =>
        followUntil(store, start, (seen) => {
          const item = seen.at(-1)
          return item?.type === 'event' && isLast(item.event)
        }),
      )
      const reader = readUntil(store, start.after, isLast)
      const written = await Promise.all(
        Array.from({ length: 8 }, async (_, writer) => {
          const own = Array.from({ length: 25 }, (__, n) =>
            event('x'.repeat(((writer * 7 + n) % 5) * 20_000)),
          )
          for (const [n, one] of own.entries())
            await right(store.append({ stream: `w${writer}`, events: [one], expected: n - 1 }))
          return own
        }),
      )
      await right(store.append({ stream: 'last', events: [last], expected: -1 }))
      const all = [...ids(written.flat()), last.id].toSorted()
      for (const seen of await Promise.all(followers)) assert.deepEqual(idsOfFollowed(seen).toSorted(), all)
      assert.deepEqual(ids(await reader).toSorted(), all)
    },
  },
]

/** Reads page after page, each from the checkpoint of the one before, until an event is the last one. */
const readUntil = async (
  store: EventStore,
  from: string | undefined,
  isLast: (event: RecordedEvent) => boolean,
): Promise<readonly RecordedEvent[]> => {
  const seen: RecordedEvent[] = []
  for (let after = from; ; await new Promise((resolve) => setTimeout(resolve, 1))) {
    const page = await right(store.readAll({ limit: 20, after }))
    seen.push(...page.events)
    after = page.checkpoint
    if (page.events.some(isLast)) return seen
  }
}
