import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../src/result/fallible.ts'
import type { WritePart } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { layeredStore } from '../../src/store/whole/layered-store.ts'
import { visible } from '../../src/transfer/formats/visible.ts'
import { linesOf, widthOf } from '../../src/cli/text.ts'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const after = (command: string): Promise<Ran> =>
  inDirectory((directory) =>
    shell(`palimpsest append a --role user --text Hi > /dev/null; ${command}`, directory),
  )

describe('palimpsest doctor', () => {
  test('prints a line for each check: its outcome, its name, and what was found', async () => {
    const { stdout, stderr, code } = await after('palimpsest doctor')
    expect(stdout).toMatch(/^ok\tfile\tpalimpsest\.db, .* KiB\n/)
    expect(stdout).toMatch(/^ok\tintegrity\tintegrity_check finds nothing/m)
    for (const line of stdout.trimEnd().split('\n'))
      expect(line).toMatch(/^(ok|warning|problem)\t[^\t]+\t[^\t]+$/)
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  })

  test('ends with 1 where there is a problem, and says which in JSON too', async () => {
    const file = await after('palimpsest doctor --store sqlite:none.db --json')
    expect(JSON.parse(file.stdout)).toEqual({
      ok: false,
      findings: [
        { check: 'file', status: 'problem', message: expect.stringContaining('there is no file none.db') },
      ],
    })
    expect(file.code).toBe(1)
    const server = await after('palimpsest doctor --store "esdb://127.0.0.1:1?tls=false"')
    expect(server.stdout).toMatch(/^problem\tconnection\t127\.0\.0\.1:1: nothing listens there/)
    expect(server.code).toBe(1)
  })

  test('looks at the index beside the file, which is built again where it is damaged', async () => {
    const index = (text: string): string => text.split('\n').find((line) => line.includes('\tindex\t')) ?? ''
    expect(index((await after('palimpsest doctor')).stdout)).toBe('')
    const whole = await after('palimpsest search nothing; palimpsest doctor')
    expect(index(whole.stdout)).toMatch(/^ok\tindex\t.*palimpsest\.db-index\.1 is intact$/)
    const damaged = await after(
      'palimpsest search nothing; printf X | dd of=palimpsest.db-index.1 bs=1 seek=9000 conv=notrunc 2>/dev/null; palimpsest doctor; palimpsest search nothing; palimpsest doctor',
    )
    const [first, second] = damaged.stdout.split('\n').filter((line) => line.includes('\tindex\t'))
    expect(first).toMatch(/^warning\tindex\t.*index\.1 is damaged: the next search or list replaces it/)
    expect(second).toMatch(/^ok\tindex\t.*index\.2 is intact$/)
    expect(damaged.code).toBe(0)
  })

  test('names the conversations whose import was interrupted', async () => {
    await inDirectory(async (directory) => {
      const url = `sqlite:${directory}/palimpsest.db`
      const store = layeredStore(await orThrow(openSqlite(url)), 65_536)
      const event = { id: randomUUID(), type: 'Noted', data: '{}', metadata: '{}' }
      const at = (stream: string, part: WritePart) =>
        orThrow(store.append({ stream, events: [{ ...event, id: randomUUID() }], expected: -1, part }))
      await at('conversation-whole', { from: 0, last: true })
      await at('conversation-half', { from: 0 })
      await at('conversation-recorded', { from: 0, last: 'import-1' })
      await at('notes-waits', { from: 0, last: 'import-2' })
      await orThrow(store.append({ stream: 'import-1', events: [event], expected: -1 }))
      await store.close()()
      // A process that is killed does not write the ends of streams.
      const db = new DatabaseSync(`${directory}/palimpsest.db`)
      db.exec('UPDATE streams SET last = NULL, hash = NULL')
      db.close()
      const { stdout, code } = await shell('palimpsest doctor', directory)
      expect(stdout).toMatch(
        /^warning\timports\tan import or copy of (half, waits|waits, half) is in progress/m,
      )
      expect(code).toBe(0)
    })
  })

  test('says that the keys of a sealed store are missing, and verify that it is sealed', async () => {
    const { stdout, code } = await after(
      "palimpsest append a --role user --text Hi --store 'sqlite:s.db?seal=keys.db' > /dev/null; palimpsest doctor --store 'sqlite:s.db?seal=keys.db'; palimpsest verify --store sqlite:s.db; palimpsest doctor --store sqlite:s.db",
    )
    expect(stdout).toMatch(/^ok\tkeys\t/m)
    expect(stdout).toMatch(/^SEALED {2}a {2}at 0: .*open the store with its keys/m)
    expect(stdout).toMatch(/: 1 SEALED$/m)
    expect(stdout).toMatch(/^problem\tkeys\tthe content of the store is sealed, and no keys are given/m)
    expect(code).toBe(1)
  })

  test('and verify say that the file of a store is empty', async () => {
    const { stdout, stderr } = await after(
      ': > e.db; palimpsest verify --store sqlite:e.db; palimpsest doctor --store sqlite:e.db',
    )
    expect(stderr).toContain('there is no store at sqlite:e.db, where the file is empty')
    expect(stdout).toContain('empty')
  })

  test('takes what is no store for wrong usage, and never prints a password', async () => {
    const { stdout, stderr, code } = await after(
      'palimpsest doctor --store "mongodb://dana:s3cret@127.0.0.1"; palimpsest doctor --store "esdb://dana:s3cret@127.0.0.1:1"; palimpsest doctor --store nonsense',
    )
    expect(stderr).toContain('error: a store URL must be ')
    expect(stdout + stderr).not.toContain('s3cret')
    expect(code).toBe(2)
  })
})

describe('a message', () => {
  const message = 'one two  three fourteen \u{1F60A}\u{1F60A} six'
  test('is broken into lines at its spaces, none of them lost', () => {
    expect(linesOf(message, 9)).toEqual(['one two ', 'three', 'fourteen', '\u{1F60A}\u{1F60A} six'])
    expect(linesOf(message, 9).join(' ')).toBe(message)
  })

  test('is broken at its spaces only, as a longer word may be a path, and nothing of it is lost', () => {
    expect(linesOf(message, 5)).toEqual(['one', 'two ', 'three', 'fourteen', '\u{1F60A}\u{1F60A}', 'six'])
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 20 }), (text, columns) => {
        const lines = linesOf(text, columns)
        for (const line of lines) if (line.includes(' ')) expect(widthOf(line)).toBeLessThanOrEqual(columns)
        expect(lines.join('').replaceAll(' ', '')).toBe(visible(text).replaceAll(' ', ''))
      }),
    )
  })
})
