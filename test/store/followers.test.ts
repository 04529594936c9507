import { join } from 'node:path'
import type { Store } from 'palimpsest'
import { expect, test } from 'vitest'
import { opened, temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'x' } as const
const checkpointsOf = async (store: Store): Promise<readonly string[]> => {
  const all: string[] = []
  for await (const { checkpoint } of store.readAll()) all.push(checkpoint)
  return all
}

test('followers of two stores on one file see what both write, in one order', async () => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const stores = [await opened(url), await opened(url)]
  const stop = new AbortController()
  const seen = stores.map((): string[] => [])
  const following = stores.map(async (store, index) => {
    for await (const item of store.follow({ signal: stop.signal })) {
      if (item.type === 'event') seen[index]?.push(item.checkpoint)
      if (seen.every(({ length }) => length === 60)) stop.abort()
    }
  })
  await Promise.all(
    stores.map(async (store, index) => {
      for (let n = 0; n < 30; n++) await store.conversation(`c${(n + index) % 3}`).append(hello)
    }),
  )
  await Promise.all(following)
  const all = await checkpointsOf(stores[0] as Store)
  expect(all).toHaveLength(60)
  expect(seen).toEqual([all, all])
})
