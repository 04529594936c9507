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
import type { DiagnosisFinding } from '../../src/store/diagnosis.ts'
import { diagnose } from '../../src/api/schemes.ts'
import { left, right } from '../support/either.ts'
import { networkIn } from '../../src/store/sqlite/network.ts'
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
const findingsOf = async (url: string): Promise<readonly DiagnosisFinding[]> => right(await diagnose(url)())
const summary = (findings: readonly DiagnosisFinding[]): readonly string[] =>
  findings.map(({ check, status }) => `${check} ${status}`)
/** The finding of a check, its message after a colon. */
const found = (findings: readonly DiagnosisFinding[], check: string): string => {
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
      'imports',
      'round trip',
    ]
    expect(findings.map(({ check }) => check)).toEqual(checks)
    // How much room the disk has is not the test's to say.
    expect(findings.filter(({ check, status }) => check !== 'free room' && status !== 'ok')).toEqual([])
    expect(found(findings, 'round trip')).toMatch(
      /^ok: an append to another file beside the store: median [\d.]+ ms, worst [\d.]+ ms of 20 tries$/,
    )
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
      /^warning: .*-wal is older than the database file/,
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
    `names a file that cannot be written${mountProblem === undefined ? '' : ` (skipped: ${mountProblem})`}`,
    async () => {
      const path = await stored()
      const readOnly = `mount --bind ${path} ${path} && mount -o remount,ro,bind ${path}`
      const seen = JSON.parse(runMounted(readOnly, 'store/children/read-only.ts', `sqlite:${path}`)) as {
        readonly diagnosed: { readonly right: readonly DiagnosisFinding[] }
      }
      expect(found(seen.diagnosed.right, 'permissions')).toMatch(
        new RegExp(`^problem: this user cannot write ${path} \\(of user \\d+ with mode \\d+\\)`),
      )
    },
  )

  test.skipIf(mountProblem !== undefined)(
    `finds a full disk${mountProblem === undefined ? '' : ` (skipped: ${mountProblem})`}`,
    () => {
      const folder = temporaryFolder()
      const printed = runMounted(
        `mount -t tmpfs -o size=1m none ${folder}`,
        'store/children/diagnosed.ts',
        join(folder, 'store.db'),
      )
      expect(found(JSON.parse(printed) as DiagnosisFinding[], 'free room')).toMatch(
        /^problem: .*free some room/,
      )
    },
  )
})

/** Mounts as processes have seen them: of a Docker host, of WSL, with a space in a name, one mounted over another. */
const mounts = `22 27 0:20 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
98 27 0:45 / /srv/team rw,relatime shared:50 - nfs4 files.example.org:/export/team rw,vers=4.2,rsize=1048576,proto=tcp
99 98 254:3 / /srv/team/scratch rw,relatime shared:51 - ext4 /dev/vdb rw
101 27 0:46 / /mnt/My\\040Share rw,relatime - cifs //nas.example.org/My\\040Share rw,vers=3.1.1,cache=strict
102 27 0:47 / /home/ann/remote rw,nosuid,nodev,relatime shared:60 - fuse.sshfs ann@host.example.org: rw,user_id=1000,group_id=1000
103 27 0:48 / /mnt/c rw,noatime - 9p C:\\134 rw,dirsync,aname=drvfs;path=C:\\;uid=1000,trans=fd
104 27 0:49 / /home/ann/vault rw,nosuid,nodev,relatime - fuse.gocryptfs /home/ann/cipher rw,user_id=1000
105 27 0:50 / /data rw - nfs files.example.org:/data rw,vers=3
106 105 254:4 / /data rw - xfs /dev/vdc rw
`.replaceAll('\\\\', '\\')

describe('the file system of a store', () => {
  test.each([
    ['/srv/team/a.db', { type: 'nfs4', source: 'files.example.org:/export/team' }],
    ['/srv/team', { type: 'nfs4', source: 'files.example.org:/export/team' }],
    ['/srv/team/scratch/a.db', undefined],
    ['/srv/teams/a.db', undefined],
    ['/mnt/My Share/a.db', { type: 'cifs', source: '//nas.example.org/My Share' }],
    ['/home/ann/remote/deep/a.db', { type: 'fuse.sshfs', source: 'ann@host.example.org:' }],
    ['/mnt/c/a.db', { type: '9p', source: 'C:\\' }],
    ['/home/ann/vault/a.db', undefined],
    ['/data/a.db', undefined],
    ['/a.db', undefined],
  ])('at %s: %j', (path, expected) => expect(networkIn(mounts, path)).toEqual(expected))

  test('is not spoken of where it is a disk', async () => {
    const checks = (await findingsOf(`sqlite:${await stored()}`)).map(({ check }) => check)
    expect(checks).not.toContain('file system')
  })

  test.skipIf(mountProblem !== undefined)(
    `is warned of where it is one of a network${mountProblem === undefined ? '' : ` (skipped: ${mountProblem})`}`,
    () => {
      const folder = temporaryFolder()
      const seen = join(folder, 'mountinfo')
      writeFileSync(seen, `${mounts}107 27 0:51 / ${folder} rw,relatime - nfs4 files.example.org:/home rw\n`)
      const printed = runMounted(
        `mount --bind ${seen} /proc/$$/mountinfo`,
        'store/children/diagnosed.ts',
        join(folder, 'store.db'),
      )
      expect(found(JSON.parse(printed) as DiagnosisFinding[], 'file system')).toMatch(
        /^warning: nfs4 \(files\.example\.org:\/home\): .*network file system/,
      )
    },
  )
})

test('the diagnosis of a memory store says that it keeps nothing', async () => {
  expect(found(await findingsOf('memory:'), 'store')).toMatch(/^warning: .*in this process only/)
})

test('the diagnosis of what is no store URL is refused', async () => {
  expect(left(await diagnose('nonsense')())).toMatchObject({ _tag: 'InvalidInput', path: 'url' })
})
