import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { node } from '../support/node.ts'
import { inDirectory, program, shell } from './palimpsest.ts'

const begin =
  'palimpsest append a --role user --text Hello. > a.txt; palimpsest audit init > key.txt; palimpsest audit seal --anchor seen.txt > sealed.txt'

describe('serve --seal', () => {
  test('serves with a sealer beside, and ends when it is told to', () =>
    inDirectory(async (directory) => {
      await shell(begin, directory)
      const args = [
        'serve',
        '--port',
        '0',
        '--json',
        '--seal',
        'palimpsest-audit.key',
        '--anchor',
        'seen.txt',
      ]
      const child = spawn(node, [await program(), ...args], {
        cwd: directory,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const ended = once(child, 'exit')
      try {
        await once(createInterface(child.stdout), 'line')
      } finally {
        child.kill('SIGTERM')
      }
      expect(await ended).toEqual([0, null])
    }))

  test('ends if an anchor has seen more than the store has', () =>
    inDirectory(async (directory) => {
      await shell(`${begin}; palimpsest backup old.db > b.txt`, directory)
      await shell(
        'palimpsest append b --role user --text Hello. > b.txt; palimpsest audit seal --anchor seen.txt > c.txt',
        directory,
      )
      const args = ['--store', 'sqlite:old.db', '--seal', 'palimpsest-audit.key', '--anchor', 'seen.txt']
      const { code, stderr } = await shell(
        `palimpsest serve --port 0 ${args.join(' ')} > d.txt | cat`,
        directory,
      )
      expect(stderr).toContain('seen.txt has seen 2 entries of this ledger, and the store has 1')
      expect(code).toBe(0)
    }))
})

test('audit verify takes the key that is known as text, or from a file', () =>
  inDirectory(async (directory) => {
    await shell(begin, directory)
    for (const key of ['key.txt', '"$(cat key.txt)"'])
      expect(await shell(`palimpsest audit verify --key ${key}`, directory)).toMatchObject({ code: 0 })
    const { code, stderr } = await shell('palimpsest audit verify --key sealed.txt', directory)
    expect(code).toBe(2)
    expect(stderr).toContain('must be a verifier key')
  }))
