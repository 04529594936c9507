import { join } from 'node:path'
import { openStore, type Store } from 'palimpsest'
import { expect, test } from 'vitest'
import { atEnd } from '../support/at-end.ts'
import { opened, stores, temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'x' } as const
const checkpointsOf = async (store: Store): Promise<readonly string[]> => {
  const all: string[] = []
  for await (const { checkpoint } of store.readAll()) all.push(checkpoint)
  return all
}

test('followers of two stores on one file see what both write, in one order', async () => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const both = [await opened(url), await opened(url)]
  const stop = new AbortController()
  const seen = both.map((): string[] => [])
  const following = both.map(async (store, index) => {
    for await (const item of store.follow({ signal: stop.signal })) {
      if (item.type === 'event') seen[index]?.push(item.checkpoint)
      if (seen.every(({ length }) => length === 60)) stop.abort()
    }
  })
  await Promise.all(
    both.map(async (store, index) => {
      for (let n = 0; n < 30; n++) await store.conversation(`c${(n + index) % 3}`).append(hello)
    }),
  )
  await Promise.all(following)
  const all = await checkpointsOf(both[0] as Store)
  expect(all).toHaveLength(60)
  expect(seen).toEqual([all, all])
})

test.each(Object.entries(stores))('from now on, the %s store gives only what comes', async (_, open) => {
  const store = await openStore(await open())
  atEnd(store.close)
  const say = (id: string) => store.conversation(id).append({ role: 'user', content: id })
  await say('before')
  const followed = store.follow({ from: 'now' })[Symbol.asyncIterator]()
  expect((await followed.next()).value).toMatchObject({ type: 'checkpoint' })
  await say('after')
  for (;;) {
    const { value } = await followed.next()
    if (value?.type !== 'event') continue
    expect(value.conversation).toBe('after')
    break
  }
  await followed.return?.()
})
