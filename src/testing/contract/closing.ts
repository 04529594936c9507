import assert from 'node:assert/strict'
import { type FollowItem } from '../../store/port.ts'
import { type ContractRule, blobOf, bytesOf, event, infosOf, errorOf, right } from './support.ts'

/** Contract rules for closing a store. */
export const closing: readonly ContractRule[] = [
  {
    title: 'a closed store ends its followers and answers StoreClosed; closing twice is fine',
    run: async (store) => {
      await right(store.append({ stream: 'a', events: [event()], expected: -1 }))
      const seen: FollowItem[] = []
      const following = (async () => {
        for await (const item of store.follow({})) seen.push(item)
      })()
      while (seen.length === 0) await new Promise(setImmediate)
      await right(store.close())
      await following
      await right(store.close())
      const errors = [
        await errorOf(store.append({ stream: 'a', events: [event()], expected: 0 })),
        await errorOf(store.read({ stream: 'a', from: 0, direction: 'forwards', limit: 1 })),
        await errorOf(store.readAll({ limit: 1 })),
        await errorOf(store.blobs.put(blobOf(1).sha256, blobOf(1).chunks)),
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
