import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

test('the list is by last activity, or by when conversations began in the store, or by id', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest append now --role user --text Hello.', directory)
    const line = {
      sessionId: 'imported',
      uuid: 'u0',
      parentUuid: null,
      type: 'user',
      timestamp: '2024-01-01T10:00:00.000Z',
      message: { role: 'user', content: 'Hi.' },
    }
    writeFileSync(join(directory, 'session.jsonl'), JSON.stringify(line))
    await shell('palimpsest import session.jsonl', directory)
    const idsBy = async (sort: string): Promise<readonly string[]> => {
      const { stdout, stderr } = await shell(`palimpsest list ${sort}`, directory)
      expect(stderr).toBe('')
      return stdout
        .trim()
        .split('\n')
        .map((row) => row.split('\t')[0] ?? '')
    }
    expect(await idsBy('')).toEqual(['now', 'imported'])
    expect(await idsBy('--sort activity')).toEqual(['now', 'imported'])
    expect(await idsBy('--sort begun')).toEqual(['imported', 'now'])
    expect(await idsBy('--sort newest')).toEqual(['imported', 'now'])
    expect(await idsBy('--sort id')).toEqual(['imported', 'now'])
    expect((await shell('palimpsest list --limit 1', directory)).stdout).toMatch(/^now\t/)
  }))
