import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../../events/codec.ts'
import { erasedForm } from '../../events/erased-form.ts'
import {
  type ContractRule,
  backwards,
  event,
  events,
  forwards,
  ids,
  errorOf,
  right,
  texts,
} from './support.ts'

/** Contract rules for the events that an append writes and for the append's result. */
const time = '2026-01-01T00:00:00.000Z'

/** Returns an event with the metadata that an event needs to be erased. */
const erasable = (one: StoredEvent): StoredEvent => ({
  ...one,
  metadata: JSON.stringify({
    salt: 'AAAAAAAAAAAAAAAAAAAAAA',
    schema: 1,
    time,
    actor: { kind: 'program' },
    commandId: 'c',
    prev: null,
  }),
})

const erased = (one: StoredEvent | undefined): StoredEvent => {
  const form = one && erasedForm(one, time)
  assert.ok(form)
  return form
}

/** Contract rules for the events that an append writes and for the append's result. */
export const writing: readonly ContractRule[] = [
  {
    title: 'a stream that does not exist reads as empty, in both directions',
    run: async (store) => {
      assert.deepEqual(await forwards(store, 'none'), [])
      assert.deepEqual(await backwards(store, 'none', Number.MAX_SAFE_INTEGER, 1), [])
      assert.deepEqual(await right(store.find('none', 'x')), { revision: undefined, through: -1 })
      assert.equal(await right(store.keptEnd('none')), undefined)
      assert.deepEqual(await right(store.streams('', '', 10)), [])
      const page = await right(store.readAll({ limit: 10 }))
      assert.deepEqual(page.events, [])
      assert.equal(page.checkpoint, undefined)
    },
  },
  {
    title: 'events come back as they were written, to the byte, in order',
    run: async (store) => {
      const strange = [
        String.raw`{"lone":"\ud800","__proto__":1}`,
        String.raw`{ "b" : 1.0, "a":1e2,  "a":"\u00e9\/", "big":12345678901234567890 }`,
      ].map((data) => ({ ...event(), data }))
      const written = [event('"quoted" \\ 😀 \u2028'), ...strange, event('last', 'Rewound')]
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      const read = await forwards(store, 'a')
      assert.deepEqual(read.map(texts), written)
      assert.deepEqual(
        read.map(({ stream, revision }) => [stream, revision]),
        [
          ['a', 0],
          ['a', 1],
          ['a', 2],
          ['a', 3],
        ],
      )
    },
  },
  {
    title: 'U+0000 comes back as it was written, or is InvalidInput',
    run: async (store) => {
      const [escaped, raw] = [event('a\u0000b'), { ...event(), data: '{"text":"a\u0000b"}' }]
      for (const [n, one] of [escaped, raw].entries()) {
        const stream = `s${n}`
        const appended = await store.append({ stream, events: [one], expected: -1 })()
        if (E.isLeft(appended)) assert.equal(appended.left._tag, 'InvalidInput')
        const kept = E.isRight(appended) ? [one] : []
        assert.deepEqual((await forwards(store, stream)).map(texts), kept)
      }
    },
  },
  {
    title:
      'an append at the last revision lands after it; at any other it is a conflict that names the actual one',
    run: async (store) => {
      const [first, second] = [event('1'), event('2')]
      await right(store.append({ stream: 'a', events: [first], expected: -1 }))
      for (const expected of [-1, 1, 7]) {
        const error = await errorOf(store.append({ stream: 'a', events: [event()], expected }))
        assert.deepEqual(
          { ...error, message: '' },
          { _tag: 'Conflict', message: '', stream: 'a', expected, actual: 0 },
        )
      }
      await right(store.append({ stream: 'a', events: [second], expected: 0 }))
      assert.deepEqual(ids(await forwards(store, 'a')), [first.id, second.id])
      const error = await errorOf(store.append({ stream: 'b', events: [event()], expected: 0 }))
      assert.equal(error._tag === 'Conflict' && error.actual, -1)
    },
  },
  {
    title: 'several events are written all together or not at all',
    run: async (store) => {
      await right(store.append({ stream: 'a', events: events(3), expected: -1 }))
      await errorOf(store.append({ stream: 'a', events: events(3), expected: 1 }))
      assert.equal((await forwards(store, 'a')).length, 3)
    },
  },
  {
    title:
      'the same events at the same place again succeed and write nothing, also when more came since, and the store says so, with other texts too',
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
      await errorOf(store.append({ stream: 'a', events: [first, event()], expected: -1 }))
    },
  },
  {
    title: 'of concurrent appends of the same events, one writes them, and the others return repeated',
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
    title:
      'a store with scrub replaces events together with an append, in any streams, and not at all if the append is a conflict or another stream has moved',
    run: async (store) => {
      if (!store.scrub) return
      const [written, others] = [events(3).map(erasable), events(2).map(erasable)]
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      await right(store.append({ stream: 'b', events: others, expected: -1 }))
      const replaces = [
        { stream: 'a', revision: 1, event: erased(written[1]) },
        { stream: 'b', revision: 1, event: erased(others[1]) },
      ]
      await errorOf(store.append({ stream: 'a', events: [event()], expected: 1, replaces }))
      const unchanged = [{ stream: 'b', expected: 0 }]
      await errorOf(store.append({ stream: 'a', events: [event()], expected: 2, replaces, unchanged }))
      assert.deepEqual((await forwards(store, 'a')).map(texts), written)
      const more = event('more')
      const ends = [
        { stream: 'b', expected: 1 },
        { stream: 'c', expected: -1 },
      ]
      await right(store.append({ stream: 'a', events: [more], expected: 2, replaces, unchanged: ends }))
      await right(store.scrub())
      const [first, , third] = written
      assert.deepEqual((await forwards(store, 'a')).map(texts), [first, replaces[0]?.event, third, more])
      assert.deepEqual((await forwards(store, 'b')).map(texts), [others[0], replaces[1]?.event])
      assert.deepEqual((await right(store.readAll({ limit: 10 }))).events.map(texts), [
        first,
        replaces[0]?.event,
        third,
        others[0],
        replaces[1]?.event,
        more,
      ])
      const kept = await right(store.keptEnd('b'))
      if (kept?.last === 1) assert.equal(kept.hash, hashOf(replaces[1]?.event ?? event()))
    },
  },
  {
    title: 'a store with scrub replaces nothing if a stream with a prefix was written since a checkpoint',
    run: async (store) => {
      if (!store.scrub) return
      const [first = event()] = [event()].map(erasable)
      await right(store.append({ stream: 'a', events: [first], expected: -1 }))
      await right(store.append({ stream: 'b-1', events: [event()], expected: -1 }))
      const { checkpoint: since = '' } = await right(store.changed('b-', undefined))
      await right(store.append({ stream: 'b-2', events: [event()], expected: -1 }))
      const replaces = [{ stream: 'a', revision: 0, event: erased(first) }]
      const more = event()
      const request = { stream: 'a', events: [more], expected: 0, replaces }
      await errorOf(store.append({ ...request, unwritten: { prefix: 'b-', since } }))
      assert.deepEqual((await forwards(store, 'a')).map(texts), [first])
      await right(store.append({ ...request, unwritten: { prefix: 'c-', since } }))
      assert.deepEqual((await forwards(store, 'a')).map(texts), [replaces[0]?.event, more])
    },
  },
  {
    title:
      'a store with scrub replaces events also if the append is a repeat, but not if another stream has moved',
    run: async (store) => {
      if (!store.scrub) return
      const written = events(3)
      await right(store.append({ stream: 'a', events: written, expected: -1 }))
      const [first = event(), second = event(), third = event()] = written
      const form = { ...first, data: '{"role":"user"}' }
      const repeat = {
        stream: 'a',
        events: [second],
        expected: 0,
        replaces: [{ stream: 'a', revision: 0, event: form }],
      }
      await errorOf(store.append({ ...repeat, unchanged: [{ stream: 'b', expected: 0 }] }))
      assert.deepEqual((await forwards(store, 'a')).map(texts), written)
      assert.equal(await right(store.append(repeat)), 'repeated')
      assert.deepEqual((await forwards(store, 'a')).map(texts), [form, second, third])
    },
  },
]
