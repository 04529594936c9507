import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const said = Array.from({ length: 6 }, (_, n) => `palimpsest append t1 --role user --text 'needle ${n}'`)

const notJson = "UPDATE events SET data = '{not json'"

/** Runs commands where event 3 of t1 was damaged by this SQL, and t2 was not. */
const damaged = (
  sql: string,
  work: (run: (command: string) => Promise<Ran>, directory: string) => Promise<void>,
): Promise<void> =>
  inDirectory(async (directory) => {
    const run = (command: string): Promise<Ran> => shell(command, directory)
    await run([...said, "palimpsest append t2 --role user --text 'a needle'"].join('; '))
    const db = new DatabaseSync(join(directory, 'palimpsest.db'))
    expect(
      db
        .prepare(`${sql} WHERE revision = 3 AND stream = (SELECT id FROM streams WHERE name LIKE '%-t1')`)
        .run(),
    ).toMatchObject({ changes: 1 })
    db.close()
    await work(run, directory)
  })

describe.each([
  ['is not JSON', notJson],
  ['is missing', 'DELETE FROM events'],
])('a conversation of which an event %s', (_, sql) => {
  test('is named by search, which ends with 1', () =>
    damaged(sql, async (run) => {
      const { stdout, stderr, code } = await run('palimpsest search needle')
      expect(stdout).toMatch(/^t2\t0\tuser\tshown\ta needle\nt1\t2\t/)
      expect(stderr).toMatch(/^not searched: t1 from position 3 \(.*\)\n$/)
      expect(code).toBe(1)
      const json = await run('palimpsest search needle --json')
      expect(JSON.parse(json.stdout)).toMatchObject({ problem: stderr.trimEnd() })
      expect((await run('palimpsest search needle --in t2')).code).toBe(0)
    }))

  test('is not exported', () =>
    damaged(sql, async (run, directory) => {
      const { stdout, stderr, code } = await run('palimpsest export t1 --out t1.jsonl')
      expect({ stdout, code }).toEqual({ stdout: '', code: 1 })
      expect(stderr).toMatch(/event 3 of stream conversation-t1.* cannot be read/)
      expect(existsSync(join(directory, 't1.jsonl'))).toBe(false)
    }))

  test('says what to do, and can be continued in a fork', () =>
    damaged(sql, async (run) => {
      const { stderr, code } = await run('palimpsest show t1')
      expect(stderr).toMatch(/palimpsest verify t1/)
      expect(code).toBe(1)
      const { stdout } = await run('palimpsest verify t1')
      const [fork = ''] = /palimpsest fork t1 NEW --at 2/.exec(stdout) ?? []
      expect((await run(fork)).code).toBe(0)
      expect((await run('palimpsest show NEW')).stdout).toMatch(/needle 0\n.*needle 1\n.*needle 2\n$/)
    }))
})

test('a conversation of which an event is not JSON is exported as it was before it', () =>
  damaged(notJson, async (run) => {
    expect((await run('palimpsest export t1 --out t1.jsonl --at 2')).code).toBe(0)
    expect((await run('palimpsest import t1.jsonl --store sqlite:other.db')).code).toBe(0)
  }))

test('a rewind says that it does not make a damaged conversation readable', () =>
  damaged(notJson, async (run) => {
    const { stdout, stderr, code } = await run('palimpsest rewind t1 --to 2')
    expect({ stdout, code }).toEqual({ stdout: '    6  ×  rewound    to 2\n', code: 0 })
    expect(stderr).toMatch(/^WARNING: the rewind is recorded, but t1 still cannot be read: .*verify t1/)
  }))
