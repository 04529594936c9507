import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { type ContractRule, event, events, followUntil, ids, errorOf, right } from './support.ts'

/** Contract rules for the global order of events and for checkpoints in this order. */
export const globalOrder: readonly ContractRule[] = [
  {
    title:
      'all events have one global order, which is the order of each stream; reading continues after a checkpoint',
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
      assert.deepEqual(end.events, [])
      assert.equal(end.checkpoint, rest.checkpoint)
      assert.notEqual(first.isEnd, true, 'the first of two pages is not the end')
    },
  },
  {
    title: 'a checkpoint that this store did not give is InvalidInput, for readers and for followers',
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
        assert.equal((await errorOf(store.readAll({ after, limit: 3 })))._tag, 'InvalidInput', shown)
        await assert.rejects(
          followUntil(store, { after }, () => true),
          { _tag: 'InvalidInput' },
          shown,
        )
      }
    },
  },
]
