import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keyFile } from '../../../src/store/seal/key-file.ts'
import { keyFolder } from '../../../src/store/seal/key-folder.ts'
import type { KeyStore } from '../../../src/store/seal/key-store.ts'
import { atEnd } from '../../support/at-end.ts'
import { temporaryFolder } from '../../support/stores.ts'

const kinds: Readonly<Record<string, (folder: string) => KeyStore>> = {
  file: (folder) => keyFile(join(folder, 'keys.db')),
  folder: (folder) => keyFolder(join(folder, 'keys/')),
}

/** The bytes of all files in a folder and the folders in it. */
const bytesIn = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join()

describe.each(Object.entries(kinds))('keys in a %s', (_, open) => {
  it('are created by the first write, for their owner only', async () => {
    const folder = temporaryFolder()
    const keys = open(folder)
    atEnd(keys.close)
    expect(await keys.read('a')).toBeUndefined()
    expect(readdirSync(folder)).toEqual([])
    expect(await keys.write('a', 'one', undefined)).toBe(true)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      expect(statSync(join(folder, name)).mode & 0o077).toBe(0)
    expect(await open(folder).read('a')).toBe('one')
  })

  it('are replaced only by a writer that knows them', async () => {
    const keys = open(temporaryFolder())
    atEnd(keys.close)
    expect(await keys.write('a', 'one', 'none')).toBe(false)
    expect(await keys.write('a', 'one', undefined)).toBe(true)
    expect(await keys.write('a', 'two', undefined)).toBe(false)
    expect(await keys.write('a', 'two', 'other')).toBe(false)
    expect(await keys.read('a')).toBe('one')
    expect(await keys.write('a', 'two', 'one')).toBe(true)
    expect(await keys.read('a')).toBe('two')
    expect(await keys.read('b')).toBeUndefined()
  })

  it('are legible nowhere once they are replaced', async () => {
    const folder = temporaryFolder()
    const keys = open(folder)
    atEnd(keys.close)
    const [former, next] = ['former'.repeat(50), 'next']
    await keys.write('a', former, undefined)
    await keys.write('b', 'another', undefined)
    expect(bytesIn(folder)).toContain(former)
    await keys.write('a', next, former)
    expect(bytesIn(folder)).not.toContain('former')
    expect(await keys.read('b')).toBe('another')
  })

  it('are written by one of several writers at once', async () => {
    const folder = temporaryFolder()
    const writers = Array.from({ length: 4 }, () => open(folder))
    for (const { close } of writers) atEnd(close)
    const add = async (keys: KeyStore): Promise<void> => {
      for (;;) {
        const before = await keys.read('a')
        if (await keys.write('a', `${before ?? ''}x`, before)) return
      }
    }
    await Promise.all(writers.flatMap((keys) => [add(keys), add(keys), add(keys)]))
    expect(await writers[0]?.read('a')).toBe('x'.repeat(12))
  })
})

describe('keys', () => {
  it('are not written into the database of something else', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const db = new DatabaseSync(file)
    db.exec('CREATE TABLE events (id)')
    db.close()
    await expect(keyFile(file).read('a')).rejects.toThrow('something else')
    writeFileSync(file, 'no database at all, but a text that is long enough to look at'.repeat(20))
    await expect(keyFile(file).read('a')).rejects.toThrow('not a database')
  })

  it('in a folder are written again after a writer has died, and nothing is left of what it wrote', async () => {
    const folder = temporaryFolder()
    const keys = keyFolder(folder)
    await keys.write('a', 'former text', undefined)
    const [name = ''] = readdirSync(folder)
    const own = join(folder, name)
    // One writer died before it had linked its text, another one before it had emptied the former one.
    const [written, linked] = [join(own, randomUUID()), join(own, '1.json')]
    writeFileSync(written, 'text of the dead')
    writeFileSync(linked, 'newest text')
    expect(await keys.read('a')).toBe('newest text')
    await keys.scrub?.()
    expect(bytesIn(folder)).not.toContain('former')
    expect(bytesIn(folder)).toContain('text of the dead')
    const longAgo = new Date(Date.now() - 60_000)
    utimesSync(written, longAgo, longAgo)
    await keys.scrub?.()
    expect(bytesIn(folder)).not.toContain('text of the dead')
    expect(await keys.read('a')).toBe('newest text')
    expect(await keys.write('a', 'three', 'newest text')).toBe(true)
    expect(await keys.read('a')).toBe('three')
  })

  it('in a file are legible nowhere after a scrub, if somebody has read the file while they were replaced', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'keys.db')
    const keys = keyFile(file)
    atEnd(keys.close)
    await keys.write('a', 'former', undefined)
    const reader = new DatabaseSync(file)
    reader.exec('BEGIN')
    reader.prepare('SELECT * FROM keys').all()
    await expect(keys.write('a', 'next', 'former')).rejects.toThrow('repeat the command')
    expect(await keys.read('a')).toBe('next')
    reader.exec('COMMIT')
    expect(bytesIn(folder)).toContain('former')
    await keys.scrub?.()
    expect(bytesIn(folder)).not.toContain('former')
    reader.close()
  })
})
