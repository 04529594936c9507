import {
  chownSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test, vi } from 'vitest'
import { restoreFile } from '../../src/api/schemes.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { left, right } from '../support/either.ts'
import { temporaryFolder, temporaryServer } from '../support/stores.ts'
import { ended, mountProblem, runMounted, start } from '../support/node.ts'

const opened = async (path: string): Promise<Store> => {
  const store = await openStore(path.includes(':') ? path : `sqlite:${path}`)
  atEnd(store.close)
  return store
}
const said = (content: string) => ({ role: 'user', content }) as const
const large = 'x'.repeat(100_000)
/** An open store with two conversations and large content, nothing of which need be in the file itself. */
const written = async (): Promise<readonly [Store, string]> => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await opened(path)
  await store.conversation('a').append([said('one'), said(large)])
  await store.conversation('a').fork('b')
  return [store, path]
}

describe('a backup', () => {
  test('of a store in use is one file that holds everything, private, and opens as a store', async () => {
    const [store, path] = await written()
    const file = join(dirname(path), 'backup.db')
    const made = await store.backup(file)
    expect(made).toEqual({ file, bytes: statSync(file).size, streams: 2, events: 3, blobs: 1 })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(path)).filter((name) => !name.startsWith('store.db'))).toEqual(['backup.db'])
    await store.conversation('a').append(said('later'))
    const copy = await opened(file)
    expect(await copy.conversation('b').effective()).toHaveLength(2)
    expect((await copy.conversation('a').effective())[1]).toMatchObject({ content: [{ text: large }] })
    for (const id of ['a', 'b'])
      expect(await copy.conversation(id).verify()).not.toHaveProperty('discrepancy')
    await copy.conversation('a').append(said('another way'))
  })

  test('is of one moment while other processes write, and keeps none of them waiting', async () => {
    const [store, path] = await written()
    const writer = ended(start('store/children/writer.ts', `sqlite:${path}`, 'w', '300', '3'))
    const counts: number[] = []
    for (let n = 0; n < 5; n++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      const file = `${path}.${n}`
      counts.push((await store.backup(file)).events)
      const copy = await opened(file)
      for await (const { id } of copy.conversations())
        expect(await copy.conversation(id).verify()).not.toHaveProperty('discrepancy')
    }
    expect((await writer).code).toBe(0)
    expect(counts).toEqual(counts.toSorted((a, b) => a - b))
    expect((await store.backup(`${path}.last`)).events).toBe(303)
  })

  test('reads the events of the copy in a thread of its own, to count them as to check them', async () => {
    const [store, path] = await written()
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
    const { streams, events, blobs } = await store.backup(join(dirname(path), 'copy.db'))
    const here = prepare.mock.calls.map(([sql]) => sql)
    vi.restoreAllMocks()
    expect([streams, events, blobs]).toEqual([2, 3, 1])
    expect(here).not.toEqual([])
    expect(here.filter((sql) => /count\(|integrity/.test(sql))).toEqual([])
  })

  test('overwrites nothing unless it is forced to, never the store itself, and never beside the -wal of another', async () => {
    const [store, path] = await written()
    const file = `${path}.backup`
    writeFileSync(file, 'precious')
    // Not even then if it is no store: it may be a file of keys or tokens.
    for (const force of [false, true])
      await expect(store.backup(file, { force })).rejects.toMatchObject({ _tag: 'FileExists', file })
    expect(readFileSync(file, 'utf8')).toBe('precious')
    rmSync(file)
    await store.backup(file)
    await expect(store.backup(file)).rejects.toMatchObject({ _tag: 'FileExists', file })
    expect(await store.backup(file, { force: true })).toMatchObject({ events: 3 })
    for (const force of [false, true])
      await expect(store.backup(path, { force })).rejects.toMatchObject({
        _tag: 'InvalidInput',
        path: 'file',
        message: `${path} is the store itself, so no backup is written there: name another file`,
      })
    writeFileSync(`${path}.other-wal`, 'x')
    await expect(store.backup(`${path}.other`, { force: true })).rejects.toMatchObject({
      _tag: 'FileExists',
      file: `${path}.other-wal`,
    })
    expect(existsSync(`${path}.other`)).toBe(false)
  })

  test.each(['-wal', '-shm', '-journal'])(
    'never overwrites what belongs to the store (%s), by whatever path it is named',
    async (suffix) => {
      const [store, path] = await written()
      const folder = join(dirname(path), 'same')
      symlinkSync(dirname(path), folder)
      const names = [path + suffix, join(folder, basename(path) + suffix)]
      if (suffix !== '-journal') {
        linkSync(path + suffix, `${path}.hard`)
        symlinkSync(path + suffix, `${path}.soft`)
        names.push(`${path}.hard`, `${path}.soft`)
      }
      symlinkSync(path, `${path}.link`)
      const linked = await opened(`${path}.link`)
      for (const each of [store, linked])
        for (const name of names)
          for (const force of [false, true])
            await expect(each.backup(name, { force })).rejects.toMatchObject({
              _tag: 'InvalidInput',
              path: 'file',
              message: `${name} belongs to the store, so no backup is written there: name another file`,
            })
      const again = await opened(path)
      expect(await again.conversation('a').effective()).toHaveLength(2)
    },
  )

  test('replaces a link by the backup, not what it leads to', async () => {
    const [store, path] = await written()
    writeFileSync(`${path}.other`, 'precious')
    symlinkSync(`${path}.other`, `${path}.link`)
    await store.backup(`${path}.link`, { force: true })
    expect(readFileSync(`${path}.other`, 'utf8')).toBe('precious')
  })

  test.each([
    ['a folder', (path: string) => dirname(path), 'is a folder'],
    ['a device', () => '/dev/null', 'is not a regular file'],
  ])('does not advise to overwrite %s', async (_, place, message) => {
    const [store, path] = await written()
    for (const force of [false, true])
      await expect(store.backup(place(path), { force })).rejects.toMatchObject({
        _tag: 'FileExists',
        message: expect.stringMatching(new RegExp(`${message}: name another file$`)),
      })
  })

  test.each<[string, (store: Store, path: string) => Promise<unknown>, string]>([
    [
      'a folder that is not there',
      (store, path) => store.backup(join(dirname(path), 'no', 'b.db')),
      'StoreUnavailable',
    ],
    ['a folder', (store, path) => store.backup(dirname(path), { force: true }), 'FileExists'],
    ['a folder that is a file', (store, path) => store.backup(join(path, 'b.db')), 'StoreUnavailable'],
    ['nothing', (store) => store.backup(''), 'InvalidInput'],
    ['no text', (store) => store.backup(5 as never), 'InvalidInput'],
    ['a URL', (store) => store.backup('sqlite:b.db'), 'InvalidInput'],
    ['a path with NUL', (store) => store.backup('a\0b'), 'InvalidInput'],
    ['invalid options', (store, path) => store.backup(`${path}.b`, null as never), 'InvalidInput'],
  ])('into %s is a typed error, and leaves nothing behind', async (_, backup, _tag) => {
    const [store, path] = await written()
    await expect(backup(store, path)).rejects.toMatchObject({ _tag })
    expect(readdirSync(dirname(path)).filter((name) => !name.startsWith('store.db'))).toEqual([])
  })

  test('removes what was left a day ago by one that was killed, and nothing else', async () => {
    const [store, path] = await written()
    const folder = dirname(path)
    const names = [
      'old.palimpsest-backup.tmp',
      'old.palimpsest-backup.tmp-wal',
      'new.palimpsest-backup.tmp',
      'old.tmp',
    ]
    for (const name of names) {
      writeFileSync(join(folder, name), '')
      const time = new Date(Date.now() - (name.startsWith('old') ? 25 : 1) * 60 * 60 * 1000)
      utimesSync(join(folder, name), time, time)
    }
    await store.backup(join(folder, 'backup.db'))
    expect(readdirSync(folder).filter((name) => names.includes(name))).toEqual([
      'new.palimpsest-backup.tmp',
      'old.tmp',
    ])
  })

  test('of a damaged store names the store, not the file that it would have written', async () => {
    const [store, path] = await written()
    await store.close()
    const bytes = readFileSync(path)
    // Every page after the schema.
    bytes.fill(0xa5, 4_096)
    writeFileSync(path, bytes)
    const damaged = await opened(path)
    await expect(damaged.backup(join(dirname(path), 'backup.db'))).rejects.toMatchObject({
      _tag: 'StoreCorrupt',
      store: `sqlite:${path}`,
    })
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith('backup'))).toEqual([])
  })

  test('of a store that is no file says what to do instead', async () => {
    for (const url of ['memory:', (await temporaryServer()).url])
      await expect((await opened(url)).backup('b.db')).rejects.toMatchObject({
        _tag: 'InvalidInput',
        message: expect.stringMatching(/export|copy/),
      })
    const [store] = await written()
    await store.close()
    await expect(store.backup('b.db')).rejects.toMatchObject({ _tag: 'StoreClosed' })
  })

  test('is a command', async () => {
    await inDirectory(async (directory) => {
      const { stdout, stderr } = await shell(
        'palimpsest append a --role user --text Hi > /dev/null; palimpsest backup b.db; palimpsest backup b.db; echo $?; palimpsest backup b.db --force --json; palimpsest show a --store sqlite:b.db',
        directory,
      )
      expect(stdout).toMatch(
        /^b\.db {2}1 stream, 1 event, [\d.]+ KiB, file checked, hash chains not\n1\n\{"file":"b\.db".*\}\n +0 .*Hi\n$/,
      )
      expect(stderr).toMatch(
        /^error: .*b\.db already exists: name another file, or overwrite it with --force\n$/,
      )
    })
  })

  test('is restored by a command, which keeps what it replaces, -wal and index included', async () => {
    await inDirectory(async (directory) => {
      const made = await shell(
        'palimpsest append a --role user --text Hi; palimpsest backup b.db; palimpsest append a --role user --text later; palimpsest search later; mkdir kept; palimpsest backup kept/b.db',
        directory,
      )
      expect(made.code).toBe(0)
      writeFileSync(join(directory, 'palimpsest.db-wal'), 'of a killed process')
      const again = await shell(
        'palimpsest backup --restore b.db; palimpsest show a; palimpsest search later',
        directory,
      )
      expect(again.stdout).toMatch(
        /^palimpsest\.db {2}1 stream, 1 event, .*, from b\.db\nwhat was written since the backup is not in it\nthe former files are in .*\/palimpsest\.db\.replaced-\S+\n.*erasures and legal holds.*\n {2}palimpsest copy --from sqlite:\S+\/palimpsest\.db --to sqlite:palimpsest\.db\n +0 .*Hi\n/,
      )
      expect(again.stdout).not.toContain('user       later')
      const former = readdirSync(directory).find((name) => name.includes('.replaced-')) ?? ''
      expect(statSync(join(directory, former)).mode & 0o777).toBe(0o700)
      const old = await shell(`palimpsest show a --store "sqlite:${former}/palimpsest.db"`, directory)
      expect(old.stdout).toContain('later')
      const twice = await shell('palimpsest backup --restore kept/b.db; palimpsest show a', directory)
      expect(twice.stdout).toContain('later')
    })
  })

  test('says which command brings what was written and erased since from the former files', async () => {
    await inDirectory(async (directory) => {
      const store = 'sqlite:a%3Fb.db?synchronous=normal'
      const { stdout } = await shell(
        `palimpsest append a --role user --text secret --store '${store}'; palimpsest backup b.db --store '${store}'; palimpsest erase a --yes --store '${store}'; palimpsest append later --role user --text Hi --new --store '${store}'; palimpsest backup --restore b.db --store '${store}'`,
        directory,
      )
      const [command = ''] = /(?<=^ {2})palimpsest copy .*$/m.exec(stdout) ?? []
      expect((await shell(command, directory)).code).toBe(0)
      const shown = await shell(
        `palimpsest show a --store '${store}'; palimpsest show later --store '${store}'`,
        directory,
      )
      expect(shown.stdout).toContain('[erased]')
      expect(shown.stdout).toContain('Hi')
    })
  })

  test('names the conversations that the former files hold, and the restored store does not', async () => {
    await inDirectory(async (directory) => {
      const { stdout } = await shell(
        'palimpsest append a --role user --text Hi; palimpsest append b --role user --text Hi --new; palimpsest hold a --by legal; palimpsest backup b.db; palimpsest hold b --by legal; palimpsest backup --restore b.db',
        directory,
      )
      expect(stdout).toContain('under a legal hold in the former files, and not in the store: b\n')
    })
  })

  test('names the retention rules that the former files have, and the restored store does not', async () => {
    await inDirectory(async (directory) => {
      const keep = 'palimpsest retention --by ann --reason why'
      const { stdout } = await shell(
        `palimpsest append a --role user --text Hi; ${keep} --keep 1y --for a-; ${keep} --keep 1y --for b-; palimpsest backup b.db; ${keep} --keep 2y --for b-; ${keep} --keep 30d --for '' --force; palimpsest backup --restore b.db`,
        directory,
      )
      expect(stdout).toMatch(
        /\nretention rule b-: 24mo in the former files, 12mo in the store, which stays\. .*:\n {2}palimpsest retention --keep 24mo --for b- --by ann --reason why --yes\nretention rules in the former files, .*:\n {2}palimpsest retention --keep 30d --for '' --by ann --reason why --force --yes\n$/,
      )
    })
  })

  test('names the retention rules that had ended, and are there again', async () => {
    await inDirectory(async (directory) => {
      const { stdout } = await shell(
        `palimpsest append a --role user --text Hi; palimpsest retention --keep 1y --for a-; palimpsest retention --keep 1y --for ''; palimpsest backup b.db; palimpsest retention --end ''; palimpsest backup --restore b.db`,
        directory,
      )
      expect(stdout).toMatch(
        /\nretention rules that had ended since the backup, .*:\n {2}palimpsest retention --end ''\n$/,
      )
    })
  })

  test('that undoes a restore names no rule to end, and no other ledger to begin', async () => {
    await inDirectory(async (directory) => {
      const set = 'palimpsest retention --keep 1y --for a-'
      await shell(
        `palimpsest append a --role user --text Hi; palimpsest backup b.db; ${set}; palimpsest audit init; palimpsest backup --restore b.db`,
        directory,
      )
      const { stdout, code } = await shell(
        'palimpsest backup --restore palimpsest.db.replaced-*/palimpsest.db; palimpsest retention',
        directory,
      )
      expect(stdout).toMatch(
        /from palimpsest\.db\.replaced-.*\nthe files that it replaced are in .*:\n {2}palimpsest copy --from .* --to sqlite:palimpsest\.db\n'a-'\t/,
      )
      expect(code).toBe(0)
    })
  })

  test('is refused with code 1 if it is missing or empty, and with 2 if the options are wrong', async () => {
    await inDirectory(async (directory) => {
      await shell('palimpsest append a --role user --text Hi; palimpsest backup b.db; : > e.db', directory)
      for (const [options, code, message] of [
        ['--restore none.db', 1, 'there is no backup none.db'],
        ['--restore e.db', 1, 'e.db is empty'],
        ['--restore b.db --force', 2, '--restore needs no --force'],
        ['--restore b.db c.db', 2, '--restore takes one file'],
        ['', 2, 'name the file to write, or the backup to restore with --restore FILE'],
      ] as const) {
        const refused = await shell(`palimpsest backup ${options}`, directory)
        expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(message)])
      }
    })
  })

  test('says how to begin another ledger only if the restored or the former store has one', async () => {
    await inDirectory(async (directory) => {
      const nextSecond = 'while [ -e "audit-$(date -u +%FT%H%M%S).key" ]; do sleep 0.1; done'
      const commands = (text: string): string =>
        / {2}palimpsest audit init --key audit-[-\dT]+\.key .*\n {2}palimpsest audit seal .*\n/
          .exec(text)?.[0]
          .replaceAll('PLACE', 'seen/') ?? ''
      const { stdout } = await shell(
        'palimpsest append a --role user --text Hi; palimpsest backup b.db; palimpsest backup --restore b.db',
        directory,
      )
      expect(stdout).not.toContain('audit')
      const begun = await shell('palimpsest audit init; palimpsest backup --restore b.db', directory)
      expect(begun.stdout).toContain(
        `the former store has a ledger, and this one has none. To begin another:\n  palimpsest audit init`,
      )
      const older = await shell(
        'palimpsest audit init --key b.key; palimpsest backup b.db --force; palimpsest backup --restore b.db',
        directory,
      )
      expect(older.stdout).toMatch(
        /\nthe ledger is as old as the backup: palimpsest audit verify --anchor PLACE .*:\n/,
      )
      // As pasted, and again after the next restore: the name of the key is another.
      const last = await shell(
        `${commands(older.stdout)}${nextSecond}; palimpsest backup --restore b.db`,
        directory,
      )
      expect(last).toMatchObject({ code: 0, stderr: '' })
      expect(await shell(commands(last.stdout), directory)).toMatchObject({ code: 0, stderr: '' })
    })
  })

  test('that was changed is left for the newest intact one, by the recipe in the docs', async () => {
    const docs = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
    const [, recipe = ''] = /```sh\n(ls -t backups[^`]*)```/.exec(docs) ?? []
    await inDirectory(async (directory) => {
      const say = (text: string): string => `palimpsest append a --role user --text ${text}`
      await shell(
        `mkdir backups; ${say('Hi')}; palimpsest backup backups/1.db; touch -d '1 hour ago' backups/1.db; ${say('Hello')}; palimpsest append b --role user --text New --new; palimpsest backup backups/2.db`,
        directory,
      )
      const changed = new DatabaseSync(join(directory, 'backups/2.db'))
      changed.exec(`UPDATE events SET data = replace(data, 'Hi', 'No')`)
      changed.close()
      expect(await shell(recipe, directory)).toMatchObject({ stdout: 'backups/1.db\n', code: 0 })
      const { stdout } = await shell(
        'palimpsest backup --restore backups/1.db; palimpsest copy --from sqlite:backups/2.db --to sqlite:palimpsest.db; palimpsest verify',
        directory,
      )
      expect(stdout).toMatch(/^a\t\S+\t\S+\tFAILED$/m)
      expect(stdout).toMatch(/\n2 conversations, 2 events: ok\n$/)
    })
  })

  test('is refused with the URL if the store is given as a path', async () => {
    await inDirectory(async (directory) => {
      const { stderr } = await shell(
        'palimpsest append a --role user --text Hi; palimpsest backup b.db; palimpsest backup --restore b.db --store a.db',
        directory,
      )
      expect(stderr).toContain('not a.db: for a file, write sqlite:a.db')
      const unknown = await shell("palimpsest list --store 'sqlite:a.db?saal=k.db'", directory)
      expect(unknown.stderr).toContain('unknown parameter saal; expected synchronous, timeout or seal')
    })
  })

  test('says what to repeat if the former store cannot be read, and advises no copy of it', async () => {
    await inDirectory(async (directory) => {
      await shell('palimpsest append a --role user --text Hi; palimpsest backup b.db', directory)
      writeFileSync(join(directory, 'palimpsest.db'), 'x'.repeat(8_192))
      const { stdout, code } = await shell('palimpsest backup --restore b.db', directory)
      expect(code).toBe(0)
      expect(stdout).toMatch(
        /\nthe former store cannot be read, .* are unknown: repeat later erasures .*\(palimpsest hold\)\n$/,
      )
      expect(stdout).not.toContain('palimpsest copy')
    })
  })

  test('that is none, is empty or is damaged is refused with what to do', async () => {
    await inDirectory(async (directory) => {
      await shell('palimpsest append a --role user --text Hi; palimpsest backup b.db', directory)
      const damaged = readFileSync(join(directory, 'b.db'))
      damaged.fill(0xa5, 4_096)
      writeFileSync(join(directory, 'damaged.db'), damaged)
      writeFileSync(join(directory, 'empty.db'), '')
      const refusal = async (file: string) => (await shell(`palimpsest backup ${file}`, directory)).stderr
      expect(await refusal('--restore sqlite:b.db')).toContain('must be the path of a backup: b.db\n')
      expect(await refusal('--restore empty.db')).toContain('empty.db is empty, and no backup\n')
      expect(await refusal('--restore damaged.db')).toMatch(/damaged .*: restore another backup\n$/)
      expect(await refusal('-')).toContain('a backup is a file, and cannot be written to standard output')
    })
  })

  test('is only read by a restore, which leaves nothing beside it, also if it is refused', async () => {
    const [store, path] = await written()
    const folder = temporaryFolder()
    const copy = join(folder, 'copy.db')
    await store.backup(copy)
    expect(left(await restoreFile(`sqlite:${path}`, copy)())._tag).toBe('StoreBusy')
    await store.close()
    expect(readdirSync(folder)).toEqual(['copy.db'])
    if (!mountProblem) {
      const readOnly = `mount --bind ${folder} ${folder} && mount -o remount,ro,bind ${folder}`
      const seen: unknown = JSON.parse(
        runMounted(readOnly, 'store/children/restored.ts', `sqlite:${path}`, copy),
      )
      expect(seen).toMatchObject({ right: { file: copy, events: expect.any(Number) } })
    }
  })

  test.skipIf(mountProblem)(
    `that does not fit on the disk of the store is an error of the store${mountProblem ? ` (skipped: ${mountProblem})` : ''}`,
    async () => {
      const folder = temporaryFolder()
      const store = await openStore(`sqlite:${join(folder, 'large.db')}`)
      atEnd(store.close)
      for (let n = 0; n < 8; n++)
        await store.conversation('a').append({ role: 'user', content: 'x'.repeat(60_000) })
      const copy = join(folder, 'copy.db')
      await store.backup(copy)
      const small = temporaryFolder()
      const seen: unknown = JSON.parse(
        runMounted(
          `mount -t tmpfs -o size=200k tmpfs ${small}`,
          'store/children/restored.ts',
          `sqlite:${join(small, 'store.db')}`,
          copy,
        ),
      )
      expect(seen).toMatchObject({
        left: { _tag: 'StoreFull', message: expect.stringContaining(join(small, 'store.db')) },
      })
    },
  )

  test.skipIf(process.getuid?.() !== 0)(
    'that root restores belongs to the owner of the former file (skipped for other users)',
    async () => {
      const [store, path] = await written()
      const copy = join(dirname(path), 'copy.db')
      await store.backup(copy)
      await store.close()
      chownSync(path, 65_534, 65_534)
      const { former = '' } = right(await restoreFile(`sqlite:${path}`, copy)())
      expect([path, former].map((file) => statSync(file).uid)).toEqual([65_534, 65_534])
    },
  )

  test('is not restored while another process has the store open, nor if it is damaged or is the store', async () => {
    const [store, path] = await written()
    const folder = dirname(path)
    const copy = join(folder, 'copy.db')
    await store.backup(copy)
    // Anything but a call of the program makes this a process of its own.
    const busy = await shell(`true && palimpsest backup --restore ${copy} --store sqlite:${path}`, folder)
    expect(busy).toMatchObject({ code: 1, stderr: expect.stringContaining('a process has it open') })
    await store.close()
    const damaged = readFileSync(copy)
    damaged.fill(0xa5, 4_096)
    writeFileSync(copy, damaged)
    for (const file of [copy, path, join(folder, 'none.db')])
      expect(await shell(`palimpsest backup --restore ${file} --store sqlite:${path}`, folder)).toMatchObject(
        {
          code: expect.toSatisfy((code: number) => code > 0),
        },
      )
    expect(readdirSync(folder).filter((name) => /replaced|tmp/.test(name))).toEqual([])
  })
})
