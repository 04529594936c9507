import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import type { Finding } from '../../src/store/diagnosis.ts'
import { diagnose } from '../../src/api/schemes.ts'
import { left, right } from '../support/either.ts'
import { mountProblem, runMounted } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

/** The path of a store with a conversation of a hundred long messages. */
const stored = async (): Promise<string> => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await openStore(`sqlite:${path}`)
  const messages = Array.from({ length: 100 }, () => ({ role: 'user' as const, content: 'x'.repeat(2_000) }))
  await store.conversation('a').append(messages)
  await store.close()
  return path
}
const change = (path: string, sql: string): void => {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}
const findingsOf = async (url: string): Promise<readonly Finding[]> => right(await diagnose(url)())
const summary = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ check, status }) => `${check} ${status}`)
/** The finding of a check, its message after a colon. */
const found = (findings: readonly Finding[], check: string): string => {
  const { status, message } =
    findings.find((finding) => finding.check === check) ?? expect.fail(`no ${check}`)
  return `${status}: ${message}`
}

describe('the diagnosis of an SQLite store', () => {
  test('finds nothing wrong with a store in use, changes nothing in it, and leaves no scratch file', async () => {
    const path = await stored()
    const before = readFileSync(path)
    const findings = await findingsOf(`sqlite:${path}`)
    const checks = [
      'file',
      'permissions',
      'schema',
      'journal mode',
      'integrity',
      'columns',
      'durability',
      'free room',
      'WAL',
      'secrets',
      'round trip',
    ]
    expect(findings.map(({ check }) => check)).toEqual(checks)
    // How much room the disk has is not the test's to say.
    expect(findings.filter(({ check, status }) => check !== 'free room' && status !== 'ok')).toEqual([])
    expect(found(findings, 'round trip')).toMatch(/^ok: an append: median [\d.]+ ms, worst [\d.]+ ms of 20$/)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(dirname(path)).filter((name) => !name.startsWith('store.db'))).toEqual([])
  })

  test('says that there is no file, and makes none', async () => {
    const path = join(temporaryFolder(), 'none.db')
    expect(summary(await findingsOf(`sqlite:${path}`))).toEqual(['file problem'])
    expect(readdirSync(dirname(path))).toEqual([])
  })

  test('finds damaged pages', async () => {
    const path = await stored()
    const file = openSync(path, 'r+')
    // Every other page after those of the schema.
    for (let page = 12; page * 4096 < statSync(path).size; page += 2)
      writeSync(file, Buffer.alloc(4096, 0xab), 0, 4096, page * 4096)
    closeSync(file)
    expect(found(await findingsOf(`sqlite:${path}`), 'integrity')).toMatch(
      /^problem: .*the file is damaged .*backup/,
    )
  })

  test('says what else a file is', async () => {
    const folder = temporaryFolder()
    writeFileSync(
      join(folder, 'text.db'),
      'no database, just a text that is long enough to be read as a header',
    )
    expect(found(await findingsOf(`sqlite:${join(folder, 'text.db')}`), 'database')).toMatch(
      /^problem: .*not an SQLite/,
    )
    change(join(folder, 'other.db'), 'CREATE TABLE t (a)')
    expect(found(await findingsOf(`sqlite:${join(folder, 'other.db')}`), 'schema')).toMatch(
      /^problem: .*another program/,
    )
    writeFileSync(join(folder, 'empty.db'), '')
    expect(found(await findingsOf(`sqlite:${join(folder, 'empty.db')}`), 'file')).toMatch(/^problem: .*empty/)
    expect(statSync(join(folder, 'empty.db')).size).toBe(0)
    change(join(folder, 'blank.db'), 'PRAGMA journal_mode = wal')
    expect(found(await findingsOf(`sqlite:${join(folder, 'blank.db')}`), 'schema')).toMatch(
      /^problem: .*empty/,
    )
  })

  test.each<[string, (path: string) => unknown]>([
    ['a folder', (path) => mkdirSync(path)],
    ['a pipe', (path) => execFileSync('sh', ['-c', 'mkfifo "$0"', path])],
    ['a link that leads to itself', (path) => symlinkSync(path, path)],
    ['a file in a file', (path) => writeFileSync(dirname(path), '')],
    ['a name that is too long', () => undefined],
  ])('finds a problem where the path leads to %s', async (what, make) => {
    const folder = temporaryFolder()
    const name = what.includes('too long') ? 'x'.repeat(5_000) : 'odd.db'
    const path = join(folder, what.includes('in a file') ? 'file/odd.db' : name)
    make(path)
    expect(summary(await findingsOf(`sqlite:${path}`))).toEqual(['file problem'])
  })

  test('warns where others can read the file, or those beside it', async () => {
    const path = await stored()
    chmodSync(path, 0o644)
    expect(found(await findingsOf(`sqlite:${path}`), 'permissions')).toBe(
      `warning: other users of this machine may read or write it: chmod 600 '${path}', unless they are meant to`,
    )
    const store = await openStore(`sqlite:${path}`)
    await store.conversation('a').append({ role: 'user', content: 'x' })
    expect(found(await findingsOf(`sqlite:${path}`), 'permissions')).toContain(`'${path}-wal'`)
    await store.close()
  })

  test.each<[string, (path: string) => void]>([
    [
      'removed and copied',
      (path) => {
        rmSync(path)
        copyFileSync(`${path}.backup`, path)
      },
    ],
    ['written over', (path) => copyFileSync(`${path}.backup`, path)],
  ])('warns of a -wal that is older than the file, which was %s', async (_, putBack) => {
    const path = await stored()
    copyFileSync(path, `${path}.backup`)
    const store = await openStore(`sqlite:${path}`)
    await store.conversation('a').append({ role: 'user', content: 'x' })
    expect(found(await findingsOf(`sqlite:${path}`), 'WAL')).toMatch(/^ok: /)
    // As a process that was killed leaves it: nobody has it open, or writes to it once more.
    const wal = readFileSync(`${path}-wal`)
    await store.close()
    writeFileSync(`${path}-wal`, wal)
    utimesSync(`${path}-wal`, new Date(0), new Date(0))
    putBack(path)
    expect(found(await findingsOf(`sqlite:${path}`), 'WAL')).toMatch(
      /^warning: .*-wal is older than the file/,
    )
  })

  test('tells of an older schema and of a newer one', async () => {
    const path = await stored()
    change(path, 'PRAGMA user_version = 1')
    expect(found(await findingsOf(`sqlite:${path}`), 'schema')).toMatch(
      /^warning: version 1: the next command/,
    )
    change(path, 'PRAGMA user_version = 1000')
    expect(found(await findingsOf(`sqlite:${path}`), 'schema')).toMatch(
      /^problem: .*version 1000.*upgrade palimpsest$/,
    )
  })

  test('warns of another journal mode, and of appends that are not durable', async () => {
    const path = await stored()
    change(path, 'PRAGMA journal_mode = delete')
    const findings = await findingsOf(`sqlite:${path}?synchronous=off`)
    expect(found(findings, 'journal mode')).toMatch(/^warning: delete: /)
    expect(found(findings, 'durability')).toMatch(/^warning: synchronous=off /)
  })

  test.skipIf(mountProblem !== undefined)(
    `finds a full disk${mountProblem === undefined ? '' : ` (skipped: ${mountProblem})`}`,
    () => {
      const folder = temporaryFolder()
      const printed = runMounted(
        `mount -t tmpfs -o size=1m none ${folder}`,
        'store/children/diagnosed.ts',
        join(folder, 'store.db'),
      )
      expect(found(JSON.parse(printed) as Finding[], 'free room')).toMatch(/^problem: .*free some room/)
    },
  )
})

test('the diagnosis of a memory store says that it keeps nothing', async () => {
  expect(found(await findingsOf('memory:'), 'store')).toMatch(/^warning: .*in this process only/)
})

test('the diagnosis of what is no store URL is refused', async () => {
  expect(left(await diagnose('nonsense')())).toMatchObject({ _tag: 'InvalidInput', path: 'url' })
})
