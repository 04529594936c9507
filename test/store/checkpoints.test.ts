import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyConversations, type Store } from 'palimpsest'
import { expect, test } from 'vitest'
import { opened, temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'x' } as const
const file = (): string => join(temporaryFolder(), 'store.db')
const checkpointsOf = async (store: Store, after?: string): Promise<readonly string[]> => {
  const all: string[] = []
  for await (const { checkpoint } of store.readAll(after === undefined ? {} : { after })) all.push(checkpoint)
  return all
}

test.each<unknown>([Number.NaN, 'NaN', -1, 0.5, null, {}, '1e99'])(
  'readers and followers of conversations are told that %s is not a checkpoint',
  async (after) => {
    const store = await opened('memory:')
    await store.conversation('c').append([hello, hello])
    const error = { _tag: 'InvalidInput', path: 'after' }
    await expect(checkpointsOf(store, after as string)).rejects.toMatchObject(error)
    const following = (async () => {
      for await (const _ of store.follow({ after: after as string })) break
    })()
    await expect(following).rejects.toMatchObject(error)
  },
)

test('a checkpoint holds in a backup, and in no other store of the same conversations', async () => {
  const [path, backup, copy] = [file(), file(), file()]
  const store = await opened(`sqlite:${path}`)
  await store.conversation('b').append([hello, hello])
  await store.conversation('a').append([hello, hello])
  const [, second = '', , last = ''] = await checkpointsOf(store)
  await store.close()
  copyFileSync(path, backup)
  await copyConversations({ from: `sqlite:${path}`, to: `sqlite:${copy}`, ids: ['a', 'b'] })
  expect(await checkpointsOf(await opened(`sqlite:${backup}`), second)).toHaveLength(2)
  for (const url of [`sqlite:${copy}`, 'memory:']) {
    const other = await opened(url)
    await expect(checkpointsOf(other, second)).rejects.toMatchObject({ _tag: 'InvalidInput' })
    await expect(checkpointsOf(other, last)).rejects.toMatchObject({ _tag: 'InvalidInput' })
  }
})

test('a checkpoint of what a backup does not have is refused, also when others were written since', async () => {
  const [path, backup] = [file(), file()]
  const store = await opened(`sqlite:${path}`)
  await store.conversation('c').append(hello)
  await store.close()
  copyFileSync(path, backup)
  const again = await opened(`sqlite:${path}`)
  await again.conversation('c').append([hello, hello])
  const last = (await checkpointsOf(again)).at(-1) ?? ''
  const restored = await opened(`sqlite:${backup}`)
  await expect(checkpointsOf(restored, last)).rejects.toMatchObject({ _tag: 'InvalidInput' })
  await restored.conversation('c').append([hello, hello, hello])
  await expect(checkpointsOf(restored, last)).rejects.toMatchObject({ _tag: 'InvalidInput' })
})

test('a checkpoint of version 0.1, a bare position, is valid', async () => {
  const store = await opened(`sqlite:${file()}`)
  await store.conversation('c').append([hello, hello, hello])
  expect(await checkpointsOf(store, '1')).toHaveLength(2)
})
