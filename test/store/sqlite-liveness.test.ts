import { once } from 'node:events'
import { existsSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChildProcess } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import type { Liveness, NameRelease } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { endsWithTest, start } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const livenessOf = async (path: string): Promise<Liveness> => {
  const store = right(await openSqlite(`sqlite:${path}`)())
  atEnd(store.close())
  if (!store.liveness) throw new Error('it cannot tell who lives')
  return store.liveness
}

const holder = async (path: string, name: string): Promise<ChildProcess> => {
  const child = start('store/children/holder.ts', `sqlite:${path}`, name)
  endsWithTest(child)
  const [said] = (await once(child.stdout ?? child, 'data')) as readonly Buffer[]
  expect(String(said)).toBe('held\n')
  return child
}

const inherited = async ({ inherit }: Liveness, name: string): Promise<NameRelease> => {
  for (;;) {
    const release = await inherit(name)
    if (release) return release
    await sleep(1)
  }
}

const file = (): string => join(temporaryFolder(), 'store.db')
const besides = (path: string): readonly string[] =>
  readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}-alive-`))

describe('a name that a process holds beside an SQLite file', () => {
  test('is inherited once, as soon as the process is killed; not while it is only stopped', async () => {
    const path = file()
    const one = await livenessOf(path)
    const other = await livenessOf(path)
    const child = await holder(path, 'a')
    expect(await one.names()).toEqual(['a'])
    expect(await one.inherit('a')).toBeUndefined()
    child.kill('SIGSTOP')
    await sleep(20)
    expect(await one.inherit('a')).toBeUndefined()
    child.kill('SIGKILL')
    const release = await inherited(one, 'a')
    expect(await other.inherit('a')).toBeUndefined()
    expect(await other.names()).toEqual(['a'])
    await release()
    expect(await other.inherit('a')).toBeUndefined()
    expect(await other.names()).toEqual([])
    expect(besides(path)).toEqual([])
  })

  test('is known no more once the process has released it', async () => {
    const path = file()
    const liveness = await livenessOf(path)
    const child = await holder(path, 'a')
    child.kill('SIGTERM')
    await once(child, 'exit')
    expect(besides(path)).toEqual([])
    expect(await liveness.inherit('a')).toBeUndefined()
  })

  test('is inherited from whoever has inherited it, if that ends before it is done', async () => {
    const path = file()
    const store = right(await openSqlite(`sqlite:${path}`)())
    const other = await livenessOf(path)
    await store.liveness?.hold('a')
    expect(await other.inherit('a')).toBeUndefined()
    await store.close()()
    expect(await other.inherit('a')).toBeTypeOf('function')
  })

  test('is not inherited while its holder has it again, however often it was released', async () => {
    const path = file()
    const [one, other] = [await livenessOf(path), await livenessOf(path)]
    for (let turn = 0; turn < 3; turn++) {
      const release = await one.hold('a')
      expect(await other.inherit('a')).toBeUndefined()
      expect(await other.names()).toEqual(['a'])
      await release?.()
    }
  })

  test('is not inherited from who takes it after having looked at another holder', async () => {
    const path = file()
    const [one, other] = [await livenessOf(path), await livenessOf(path)]
    const release = await one.hold('a')
    expect(await other.inherit('a')).toBeUndefined()
    await release?.()
    expect(await other.hold('a')).toBeTypeOf('function')
    expect(await one.inherit('a')).toBeUndefined()
    expect(await one.names()).toEqual(['a'])
  })

  test('is another in each store, however its file is called', async () => {
    const path = file()
    const link = join(temporaryFolder(), 'link.db')
    const liveness = await livenessOf(path)
    symlinkSync(path, link)
    const release = await liveness.hold('a')
    expect(await (await livenessOf(link)).names()).toEqual(['a'])
    expect(await (await livenessOf(file())).names()).toEqual([])
    expect(await liveness.hold('a')).toBeUndefined()
    await release?.()
    expect(await liveness.hold('b')).toBeTypeOf('function')
  })

  test('is in a file that only its owner may read', async () => {
    const path = file()
    const liveness = await livenessOf(path)
    await liveness.hold('a')
    const [name = ''] = besides(path)
    expect(statSync(join(dirname(path), name)).mode & 0o777).toBe(0o600)
  })

  test('leads to no other file', async () => {
    const path = file()
    const liveness = await livenessOf(path)
    const other = join(dirname(path), 'other')
    writeFileSync(other, '')
    for (const name of ['/../other', '../other', '', 'a/b', 'a\0']) {
      expect(await liveness.hold(name)).toBeUndefined()
      expect(await liveness.inherit(name)).toBeUndefined()
    }
    expect(existsSync(other)).toBe(true)
    expect(besides(path)).toEqual([])
  })

  test('cannot be held where no file can be, which is no error', async () => {
    const folder = temporaryFolder()
    const liveness = await livenessOf(join(folder, 'store.db'))
    renameSync(folder, `${folder}-elsewhere`)
    atEnd(() => renameSync(`${folder}-elsewhere`, folder))
    expect(await liveness.hold('a')).toBeUndefined()
    expect(await liveness.inherit('a')).toBeUndefined()
    expect(await liveness.names()).toEqual([])
  })
})
