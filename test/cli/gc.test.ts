import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const after = (command: string): Promise<Ran> =>
  inDirectory(async (directory) => {
    await writeFile(join(directory, 'large.txt'), 'x'.repeat(100_000))
    await shell('palimpsest append a --role user --file large.txt', directory)
    // What an interrupted append leaves behind: content without an event.
    const database = new DatabaseSync(join(directory, 'palimpsest.db'))
    database.exec('DELETE FROM events')
    database.close()
    return shell(command, directory)
  })
const hash = '[0-9a-f]{64}'

describe('palimpsest gc', () => {
  test('leaves alone what is younger than a day, lists in a dry run, and removes', async () => {
    const { stdout, stderr, code } = await after(
      'palimpsest gc; palimpsest gc --older-than 0 --dry-run; palimpsest gc --older-than 0; palimpsest gc',
    )
    const [young, listed, dry, removedRow, removed, none] = stdout.trimEnd().split('\n')
    expect(young).toBe('0 removed (0 kB) of 1 large content (100 kB)')
    expect(listed).toMatch(new RegExp(`^${hash}\t100 kB\t20[0-9T:.-]+Z$`))
    expect(dry).toBe('1 to remove (100 kB) of 1 large content (100 kB)')
    expect(removedRow).toBe(listed)
    expect(removed).toBe('1 removed (100 kB) of 1 large content (100 kB)')
    expect(none).toBe('0 removed (0 kB) of 0 large contents (0 kB)')
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  })

  test('with --json answers what it found', async () => {
    const { stdout } = await after('palimpsest gc --older-than 0 --dry-run --json')
    expect(JSON.parse(stdout)).toEqual({
      blobs: 1,
      bytes: 100_000,
      unreferenced: [
        { sha256: expect.stringMatching(hash), bytes: 100_000, time: expect.stringMatching(/^20.*Z$/) },
      ],
      removed: 0,
    })
  })

  test('takes no time in the future', async () => {
    const { stderr, code } = await after('palimpsest gc --older-than -1')
    expect(stderr).toContain('must be a duration')
    expect(code).toBe(2)
  })
})
