import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { inDirectory, shell } from './palimpsest.ts'

test('a sealed store and its keys are restored from their backups after both were lost', () =>
  inDirectory(async (directory) => {
    const url = "--store 'sqlite:s.db?seal=keys.db'"
    const restore = 'palimpsest backup --restore'
    await shell(
      `palimpsest append task-42 --role user --text Hello. ${url}; palimpsest backup b.db ${url}; palimpsest backup --keys k.db ${url}`,
      directory,
    )
    for (const file of ['s.db', 'keys.db'])
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, file + suffix), { force: true })
    const { stdout, stderr, code } = await shell(
      `${restore} k.db ${url}; ${restore} b.db ${url}; palimpsest show task-42 --full ${url}; palimpsest verify ${url}`,
      directory,
    )
    expect([stderr, code]).toEqual(['', 0])
    expect(stdout).toMatch(/^keys\.db {2}2 keys, .*, from k\.db, file checked$/m)
    expect(stdout).toContain('Hello.')
    expect(statSync(join(directory, 'keys.db')).mode & 0o777).toBe(0o600)
    const again = await shell(`${restore} k.db ${url} --json`, directory)
    expect(JSON.parse(again.stdout)).toMatchObject({
      keys: 2,
      former: expect.stringContaining('keys.db.replaced-') as string,
    })
    for (const [command, message] of [
      [`${restore} k.db --store sqlite:s.db`, "like --store 'sqlite:palimpsest.db?seal=keys.db'"],
      [`${restore} k.db --store 'sqlite:s.db?seal=folder/'`, 'cp -a'],
      ['palimpsest list --store sqlite:k.db', 'has the keys of a sealed store'],
      [`${restore} b.db --store 'esdb://h:1?seal=keys.db'`, 'the tools of the database'],
    ])
      expect((await shell(command ?? '', directory)).stderr).toContain(message)
    const store = await openStore(`sqlite:${join(directory, 's.db')}?seal=${join(directory, 'keys.db')}`)
    try {
      await store.conversation('task-42').append({ role: 'user', content: 'Held open.' })
      expect((await shell(`${restore} k.db ${url}`, directory)).stderr).toContain('a process has it open')
    } finally {
      await store.close()
    }
  }))

test('a sealed store that is restored without its keys says what to do once they are back', () =>
  inDirectory(async (directory) => {
    const url = "--store 'sqlite:s.db?seal=keys.db'"
    await shell(
      `palimpsest append task-42 --role user --text Hello. ${url}; palimpsest backup b.db ${url}; palimpsest backup --keys k.db ${url}; palimpsest append task-42 --role user --text Later. ${url}; palimpsest hold task-42 ${url}`,
      directory,
    )
    const unnamed = await shell('palimpsest backup --restore b.db --store sqlite:s.db', directory)
    expect(unnamed.stdout).toMatch(/legal holds cannot be read: .*open the store with its keys/)
    const [former = ''] = /s\.db\.replaced-[^/\s]+/.exec(unnamed.stdout) ?? []
    await shell(`rm s.db*; mv ${former}/* .; rmdir ${former}`, directory)
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, `keys.db${suffix}`), { force: true })
    const { stdout, code } = await shell(`palimpsest backup --restore b.db ${url}`, directory)
    expect(code).toBe(0)
    expect(stdout).toContain('the former store cannot be read without its keys')
    const [, copy = ''] = /^ {2}(palimpsest copy .*)$/m.exec(stdout) ?? []
    const again = await shell(
      `palimpsest backup --restore k.db ${url}; ${copy}; palimpsest show task-42 ${url}`,
      directory,
    )
    expect(again.stdout).toContain('Later.')
  }))

test('backup says that the keys of a sealed store are not in it, and --keys backs them up while they are in use', () =>
  inDirectory(async (directory) => {
    const path = (name: string): string => join(directory, name)
    const store = await openStore(`sqlite:${path('s.db')}?seal=${path('keys.db')}`)
    const url = "--store 'sqlite:s.db?seal=keys.db'"
    try {
      await store.conversation('task-42').append({ role: 'user', content: 'Hello.' })
      const { stdout, code } = await shell(
        `palimpsest backup b.db ${url}; palimpsest backup --keys k.db ${url}
palimpsest show task-42 --full --store 'sqlite:b.db?seal=k.db'`,
        directory,
      )
      expect(stdout).toContain('the keys (keys.db) are not in it: palimpsest backup --keys FILE')
      expect(stdout).toMatch(/^k\.db {2}2 keys, .*, file checked$/m)
      expect(stdout).toContain('Hello.')
      expect(code).toBe(0)
      expect(statSync(path('k.db')).mode & 0o777).toBe(0o600)
    } finally {
      await store.close()
    }
    for (const [options, message] of [
      [`k.db ${url}`, 'name another file'],
      ['n.db --store sqlite:b.db', 'names its keys'],
      ["n.db --store 'sqlite:s.db?seal=b.db'", 'is not a file of keys'],
      ["n.db --store 'sqlite:s.db?seal=folder/'", 'cp -a'],
      [`n.db --force ${url}`, 'stands alone'],
    ])
      expect(await shell(`palimpsest backup --keys ${options}; ls`, directory)).toMatchObject({
        stderr: expect.stringContaining(message ?? ''),
        stdout: expect.not.stringContaining('n.db'),
      })
  }))
