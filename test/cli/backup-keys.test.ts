import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { inDirectory, shell } from './palimpsest.ts'

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
