import { copyFileSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Conversation, type KeyStore, openStore, type Store } from '../../../src/index.ts'
import { keyFile } from '../../../src/store/seal/key-file.ts'
import { keyFolder } from '../../../src/store/seal/key-folder.ts'
import { atEnd } from '../../support/at-end.ts'
import { patient, temporaryFolder, temporaryServer } from '../../support/stores.ts'

const user = (content: string) => ({ role: 'user' as const, content })

const opened = async (...given: Parameters<typeof openStore>): Promise<Store> => {
  const store = await openStore(...given)
  atEnd(store.close)
  return store
}

const all = async <A>(items: AsyncIterable<A>): Promise<readonly A[]> => {
  const some: A[] = []
  for await (const item of items) some.push(item)
  return some
}

const erasedIn = async (chat: Conversation): Promise<readonly number[]> =>
  (await all(chat.events())).filter(({ metadata }) => metadata.erased).map(({ position }) => position)

/** Keys whose holder plans an erasure, and ends before it destroys them. */
const dying = (folder: string): KeyStore => {
  const keys = keyFolder(folder)
  let writes = 0
  return {
    ...keys,
    write: async (...given) => {
      if (writes++ > 0) throw new Error('the power is gone')
      return keys.write(...given)
    },
  }
}

/** Keys whose holder is interrupted once, when it has planned an erasure. */
const interrupted = (folder: string, during: () => Promise<unknown>): KeyStore => {
  const keys = keyFolder(folder)
  let isOver = false
  return {
    ...keys,
    write: async (id, text, before) => {
      const isWritten = await keys.write(id, text, before)
      if (isOver || !text.includes('"planned"')) return isWritten
      isOver = true
      await during()
      return isWritten
    },
  }
}

describe('erasures of two processes at once, in EventStoreDB', () => {
  it('are carried out, though one process ends before the keys are destroyed', async () => {
    const { url } = await temporaryServer()
    const folder = `${temporaryFolder()}/`
    const store = await opened(url + patient, { seal: folder })
    const chat = store.conversation('a')
    await chat.append([user('One.'), user('Two.'), user('Three.')])
    const first = (await opened(url + patient, { seal: dying(folder) })).conversation('a')
    const seal = interrupted(folder, () =>
      expect(first.erase({ positions: [0], by: 'ann' })).rejects.toThrow('power'),
    )
    const second = (await opened(url + patient, { seal })).conversation('a')
    await second.erase({ positions: [2], by: 'bob' })
    const again = (await opened(url + patient, { seal: folder })).conversation('a')
    expect(await erasedIn(again)).toEqual([0, 2])
    expect((await again.verify()).discrepancy).toBeUndefined()
  })

  it('erase nothing twice, though one process remembers keys that the other one destroyed', async () => {
    const { url } = await temporaryServer()
    const folder = `${temporaryFolder()}/`
    const first = (await opened(url + patient, { seal: folder })).conversation('a')
    await first.append([user('One.'), user('Two.')])
    const seal = interrupted(folder, async () => {
      await first.erase({ positions: [0], by: 'ann' })
      await first.append(user('Three.'))
    })
    const second = (await opened(url + patient, { seal })).conversation('a')
    await second.erase({ positions: [0, 1], by: 'bob' })
    const again = (await opened(url + patient, { seal: folder })).conversation('a')
    expect(await erasedIn(again)).toEqual([0, 1])
    expect((await again.verify()).discrepancy).toBeUndefined()
  })
})

describe('what came back with old keys', () => {
  it('is erased again at the times of its erasures', async () => {
    const { url } = await temporaryServer()
    const folder = `${temporaryFolder()}/`
    const keys = keyFolder(folder)
    const store = await opened(url + patient, { seal: folder })
    await store.conversation('a').append([user('One.'), user('Two.')])
    const before = (await keys.read('a')) ?? ''
    await store.conversation('a').erase({ positions: [0], by: 'ann' })
    await store.conversation('a').erase({ positions: [1], by: 'ann' })
    await keys.write('a', before, await keys.read('a'))
    const again = (await opened(url + patient, { seal: folder })).conversation('a')
    expect((await again.verify()).discrepancy).toMatchObject({ kind: 'erased' })
    expect(await again.erase({ again: true })).toMatchObject({ positions: [0, 1] })
    expect((await again.verify()).discrepancy).toBeUndefined()
  })
})

describe('an older copy of a store', () => {
  it('is written to with new keys where later events were erased', async () => {
    const folder = temporaryFolder()
    const [file, copy] = [join(folder, 'store.db'), join(folder, 'copy.db')]
    const seal = join(folder, 'keys.db')
    const store = await openStore(`sqlite:${file}`, { seal })
    await store.conversation('a').append(user('One.'))
    await store.backup(copy)
    await store.conversation('a').append([user('Two.'), user('Three.'), user('Four.')])
    await store.conversation('a').erase({ positions: [1, 2], by: 'ann' })
    await store.close()
    copyFileSync(copy, file)
    const restored = await opened(`sqlite:${file}`, { seal })
    const chat = restored.conversation('a')
    await chat.append(user('Anew.'))
    await chat.append([user('And more.'), user('And more.')])
    const again = (await opened(`sqlite:${file}`, { seal })).conversation('a')
    expect(await erasedIn(again)).toEqual([])
    expect((await again.verify()).discrepancy).toBeUndefined()
    await again.erase({ positions: [1], by: 'ann' })
    expect(await erasedIn(again)).toEqual([1])
  })

  it('is called older, not changed, where content was erased later', async () => {
    const folder = temporaryFolder()
    const [copy, seal] = [join(folder, 'copy.db'), join(folder, 'keys.db')]
    const store = await opened(`sqlite:${join(folder, 'store.db')}`, { seal })
    await store.conversation('a').append([user('One.'), user('Two.')])
    await store.backup(copy)
    await store.conversation('a').erase({ positions: [1], by: 'ann' })
    expect((await store.conversation('a').verify()).discrepancy).toBeUndefined()
    const older = await opened(`sqlite:${copy}`, { seal })
    expect((await older.conversation('a').verify()).discrepancy).toMatchObject({
      position: 1,
      kind: 'older',
      message: expect.stringContaining('after this copy of the store was made') as string,
    })
  })
})

describe('keys', () => {
  it('of one store are refused for another, where they would be destroyed with those of the first', async () => {
    const folder = temporaryFolder()
    const seal = join(folder, 'keys.db')
    const store = await opened(`sqlite:${join(folder, 'one.db')}`, { seal })
    await store.conversation('a').append(user('One.'))
    await expect(openStore(`sqlite:${join(folder, 'two.db')}`, { seal })).rejects.toMatchObject({
      _tag: 'StoreDenied',
      message: expect.stringContaining('another store') as string,
    })
    const again = (await opened(`sqlite:${join(folder, 'one.db')}`, { seal })).conversation('a')
    expect(await erasedIn(again)).toEqual([])
  })

  it('are not written into a file that was deleted', async () => {
    const file = join(temporaryFolder(), 'keys.db')
    const keys = keyFile(file)
    atEnd(keys.close)
    await keys.write('a', 'one', undefined)
    rmSync(file)
    await expect(keys.write('b', 'two', undefined)).rejects.toThrow('deleted or replaced')
    await expect(keys.read('a')).rejects.toThrow('deleted or replaced')
  })

  it('in a folder are read whole while they are replaced', async () => {
    const keys = keyFolder(temporaryFolder())
    let text = '0'.repeat(10_000)
    await keys.write('a', text, undefined)
    let isEnded = false
    const reading = (async () => {
      while (!isEnded) expect(await keys.read('a')).not.toContain('\0')
    })()
    for (let round = 1; round < 50; round++) {
      const next = String(round % 10).repeat(10_000)
      await keys.write('a', next, text)
      text = next
    }
    isEnded = true
    await reading
  })

  it('stay in their folder when the process changes its directory', async () => {
    const folder = temporaryFolder()
    const keys = keyFolder(`${relative(process.cwd(), folder)}/`)
    const before = process.cwd()
    atEnd(() => process.chdir(before))
    process.chdir('/')
    await keys.write('a', 'one', undefined)
    expect(readdirSync(folder)).toHaveLength(1)
  })
})
