import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { type ContractRule, event, forwards, errorOf, right, texts } from './support.ts'

/** Contract rules for rejected and concurrent appends. */
export const guarding: readonly ContractRule[] = [
  {
    title: 'what could not be stored and read back unchanged is InvalidInput, and nothing is written',
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
        assert.equal((await errorOf(store.append(request)))._tag, 'InvalidInput', JSON.stringify(fields))
      }
      assert.deepEqual(await right(store.streams('', '', 10)), [])
    },
  },
  {
    title: 'an append writes what it was given when it was called',
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
    title: 'of concurrent appends at the same revision, exactly one succeeds',
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
    title: 'concurrent appends to several streams each have their own outcome',
    run: async (store) => {
      await right(store.append({ stream: 's3', events: [event()], expected: -1 }))
      const tries = Array.from({ length: 8 }, (_, n) =>
        store.append({ stream: `s${n}`, events: [event()], expected: -1 })(),
      )
      const outcomes = await Promise.all(tries)
      assert.deepEqual(outcomes.map(E.isRight), [true, true, true, false, true, true, true, true])
    },
  },
]
