import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore, type Store } from 'palimpsest'
import { afterEach, describe, expect, test } from 'vitest'
import { openEvents, storeOn } from '../../src/api/open.ts'
import type { EventStore } from '../../src/store/port.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { ended, startHeard } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'hello' } as const
const file = (): string => join(temporaryFolder(), 'store.db')
const open: Store[] = []
const opened = async (path: string): Promise<Store> => {
  const store = await openStore(`sqlite:${path}`)
  open.push(store)
  return store
}
afterEach(async () => {
  for (const store of open.splice(0)) await store.close().catch(() => undefined)
})
/** A file with one conversation of one message, closed. */
const written = async (path = file()): Promise<string> => {
  const store = await openStore(`sqlite:${path}`)
  await store.conversation('c').append(hello)
  await store.close()
  return path
}
const change = (path: string, sql: string): void => {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

describe('an append is not acknowledged where it would not be found again', () => {
  const replacements: Readonly<Record<string, (path: string) => void>> = {
    'the file was removed': (path) => rmSync(path),
    'the file was renamed': (path) => renameSync(path, `${path}.old`),
    'the file was replaced by a copy': (path) => {
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
    'its -wal was removed': (path) => rmSync(`${path}-wal`),
    'its -shm was removed': (path) => rmSync(`${path}-shm`),
    'all three were removed': (path) => ['', '-wal', '-shm'].forEach((suffix) => rmSync(path + suffix)),
    'its folder was renamed': (path) => renameSync(dirname(path), `${dirname(path)}.old`),
    'another store was put in its place': (path) => renameSync(`${path}.other`, path),
  }
  const large = { role: 'user', content: 'x'.repeat(100_000) } as const
  const kinds: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
    'alone, after one that it wrote': (store) => store.conversation('c').append(hello),
    'in a transaction with others': (store) =>
      Promise.all(['c', 'd', 'e'].map((id) => store.conversation(id).append(hello))),
    'with large content': (store) => store.conversation('c').append(large),
    'again, under a command id': (store) => store.conversation('c').append(hello, { commandId: 'k' }),
  }
  for (const [how, replace] of Object.entries(replacements))
    test.each(Object.entries(kinds))(`${how}; %s`, async (_, append) => {
      const path = file()
      await written(`${path}.other`)
      const store = await opened(path)
      await store.conversation('c').append(hello, { commandId: 'k' })
      replace(path)
      await expect(append(store)).rejects.toMatchObject({
        _tag: 'StoreReplaced',
        message: expect.stringContaining(path),
        store: `sqlite:${path}`,
      })
      await expect(store.conversation('c').append(hello)).rejects.toMatchObject({ _tag: 'StoreReplaced' })
      rmSync(`${dirname(path)}.old`, { recursive: true, force: true })
    })

  test.each(Object.entries(replacements))('%s, after the folder had long been quiet', async (_, replace) => {
    const path = file()
    await written(`${path}.other`)
    const store = await opened(path)
    await store.conversation('c').append(hello)
    utimesSync(dirname(path), new Date(0), new Date(0))
    for (let n = 0; n < 3; n++) await store.conversation('c').append(hello)
    replace(path)
    await expect(store.conversation('c').append(hello)).rejects.toMatchObject({ _tag: 'StoreReplaced' })
    rmSync(`${dirname(path)}.old`, { recursive: true, force: true })
  })

  test('a store behind a link or a relative path is the same file when the process changes its directory', async () => {
    const folder = temporaryFolder()
    symlinkSync(await written(), join(folder, 'link.db'))
    const before = process.cwd()
    const linked = await opened(join(folder, 'link.db'))
    await linked.conversation('c').append(hello)
    try {
      process.chdir(folder)
      const relative = await opened('relative.db')
      process.chdir('/')
      await relative.conversation('c').append(hello)
      await relative.conversation('c').append(hello)
    } finally {
      process.chdir(before)
    }
    expect(await linked.conversation('c').append(hello)).toMatchObject({ position: 2 })
    expect(readdirSync(folder)).toContain('relative.db-wal')
  })

  test('nor does a follower wait for ever for what is written elsewhere', async () => {
    const path = file()
    const store = await opened(path)
    await store.conversation('c').append(hello)
    const following = (async () => {
      for await (const _ of store.follow()) renameSync(path, `${path}.old`)
    })()
    await expect(following).rejects.toMatchObject({ _tag: 'StoreReplaced' })
  })

  test('and reads stop within about a second, from a folder that had long been quiet, too', async () => {
    const path = file()
    await written(`${path}.other`)
    const store = await opened(path)
    await store.conversation('c').append(hello)
    utimesSync(dirname(path), new Date(0), new Date(0))
    expect(await store.conversation('c').position()).toBe(0)
    renameSync(`${path}.other`, path)
    const reads = async (): Promise<never> => {
      for (;;) {
        await store.conversation('c').position()
        await sleep(10)
      }
    }
    await expect(reads()).rejects.toMatchObject({ _tag: 'StoreReplaced' })
    await expect(store.conversations()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      _tag: 'StoreReplaced',
    })
  })

  test('other files may come and go beside it', async () => {
    const path = file()
    const store = await opened(path)
    await store.conversation('c').append(hello)
    writeFileSync(`${path}.note`, 'x')
    rmSync(`${path}.note`)
    const other = await openStore(`sqlite:${path}`)
    await other.conversation('d').append(hello)
    await other.close()
    expect(await store.conversation('c').append(hello)).toMatchObject({ position: 1 })
  })
})

describe('a file without a store in it', () => {
  test.each<[string, (path: string) => void]>([
    ['that is empty', (path) => writeFileSync(path, '')],
    ['that is a database without tables', (path) => change(path, 'PRAGMA journal_mode = wal')],
  ])('%s is no store to one who does not create it, and nothing is written into it', async (_, make) => {
    const path = file()
    make(path)
    const before = readFileSync(path)
    await expect(openStore(`sqlite:${path}`, { create: false })).rejects.toMatchObject({
      _tag: 'StoreNotFound',
    })
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(dirname(path))).toEqual(['store.db'])
    expect(await (await opened(path)).conversation('c').append(hello)).toMatchObject({ position: 0 })
  })
})

describe('what is created', () => {
  test('can be read by its owner only, the files beside it too; permissions that somebody has given stay', async () => {
    const path = file()
    const store = await opened(path)
    await store.conversation('c').append(hello)
    const modes = (): readonly number[] =>
      ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777)
    expect(modes()).toEqual([0o600, 0o600, 0o600])
    await store.close()
    chmodSync(path, 0o640)
    await (await opened(path)).conversation('c').append(hello)
    expect(modes()).toEqual([0o640, 0o640, 0o640])
  })
})

describe('a store that is created late', () => {
  const late = async (path: string): Promise<Store> => {
    const store = await openStore(`sqlite:${path}`, { create: 'late' })
    open.push(store)
    return store
  }

  test('is empty, and no file, until something is written', async () => {
    const path = file()
    const store = await late(path)
    expect(await store.conversations()[Symbol.asyncIterator]().next()).toMatchObject({ done: true })
    await expect(store.conversation('c').effective()).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
    await expect(store.conversation('c').append([])).rejects.toMatchObject({ _tag: 'InvalidInput' })
    expect(readdirSync(dirname(path))).toEqual([])
    await store.conversation('c').append({ role: 'user', content: 'x'.repeat(100_000) })
    expect(await (await opened(path)).conversation('c').effective()).toEqual(
      await store.conversation('c').effective(),
    )
  })

  test('is that of whoever writes first', async () => {
    const path = file()
    const stores = await Promise.all([late(path), late(path), late(path)])
    await Promise.all(stores.map((store) => store.conversation('c').append(hello)))
    for (const store of stores) expect(await store.conversation('c').effective()).toHaveLength(3)
  })

  test('is read as soon as another process has created it', async () => {
    const path = file()
    const [reader, writer] = [await late(path), await late(path)]
    await expect(reader.conversation('c').effective()).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
    await writer.conversation('c').append({ role: 'user', content: 'x'.repeat(100_000) })
    expect(await reader.conversation('c').effective()).toHaveLength(1)
    expect(await reader.conversations()[Symbol.asyncIterator]().next()).toMatchObject({ value: { id: 'c' } })
  })

  test('holds names from when it is there: those that were given before, and those after', async () => {
    const url = `sqlite:${file()}`
    const events = async (): Promise<EventStore> => {
      const store = right(await openEvents(url, 'late')())
      atEnd(store.close())
      return store
    }
    const [own, other] = [await events(), await events()]
    const [early, left] = [await own.liveness?.hold('early'), await own.liveness?.hold('left')]
    await left?.()
    expect([await own.liveness?.names(), await own.liveness?.inherit('early')]).toEqual([[], undefined])
    await storeOn(own, { kind: 'program' }).conversation('c').append(hello)()
    const next = await own.liveness?.hold('next')
    right(await other.streams('', '', 1)())
    expect((await other.liveness?.names())?.toSorted()).toEqual(['early', 'next'])
    expect(await other.liveness?.inherit('early')).toBeUndefined()
    await early?.()
    await next?.()
    expect(await other.liveness?.names()).toEqual([])
  })

  test('is never there if it is closed before, and then says so', async () => {
    const path = file()
    const store = await late(path)
    await store.close()
    await expect(store.conversation('c').append(hello)).rejects.toMatchObject({
      _tag: 'StoreClosed',
      store: `sqlite:${path}`,
    })
    expect(readdirSync(dirname(path))).toEqual([])
  })
})

test('a path may have a question mark and a percent sign in it, written as %3F and %25', async () => {
  const folder = dirname(file())
  const store = await openStore(`sqlite:${folder}/what%3F 100%25 %41.db?timeout=1000`)
  await store.conversation('c').append(hello)
  await store.close()
  expect(readdirSync(folder)).toContain('what? 100% %41.db')
})

describe('what cannot be a store is a typed error', () => {
  test.each([
    ['sqlite::memory:', 'memory:'],
    ['sqlite:file:store.db', 'sqlite:path'],
    ['sqlite:a\0b.db', 'NUL'],
    ['sqlite://dana:s3cret@example.org/store.db', 'no host'],
    ['sqlite://dana%3As3cret%40example.org/store.db', 'no host'],
    ['sqlite://s.db', 'sqlite:s.db'],
    ['sqlite:store.db?timeout=2147483648', 'timeout'],
    ['sqlite:store.db?timeout=1e3', 'timeout'],
    ['sqlite:store.db?timeout=', 'timeout'],
    ['sqlite:store.db?synchronous=s3cret', 'synchronous'],
    ['sqlite:store.db?password=s3cret', 'unknown parameter password'],
  ])('%j', async (url, message) => {
    const failed = openStore(url)
    await expect(failed).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'url',
      message: expect.stringContaining(message),
    })
    await expect(failed).rejects.not.toThrow('s3cret')
  })

  test.each<[string, string, (path: string) => void]>([
    ['StoreCorrupt', 'a folder', (path) => mkdirSync(path)],
    ['StoreUnavailable', 'a link that leads to itself', (path) => symlinkSync(path, path)],
    [
      'StoreCorrupt',
      'a database of another program that has our application id',
      (path) =>
        change(path, 'CREATE TABLE events (a); PRAGMA application_id = 1346456649; PRAGMA user_version = 2'),
    ],
    [
      'StoreCorrupt',
      'such a database without a version',
      (path) => change(path, 'CREATE TABLE t (a); PRAGMA application_id = 1346456649'),
    ],
    [
      'StoreCorrupt',
      'a marked database without tables',
      (path) => change(path, 'PRAGMA application_id = 1346456649; PRAGMA user_version = 2'),
    ],
  ])('%s: %s', async (_tag, __, make) => {
    const path = file()
    make(path)
    const url = `sqlite:${path}`
    await expect(openStore(url)).rejects.toMatchObject({ _tag, store: url })
  })

  test.each([
    ['StoreCorrupt', 'a negative version', 'PRAGMA user_version = -1'],
    ['StoreCorrupt', 'no version', 'PRAGMA user_version = 0'],
    ['StoreCorrupt', 'a version of before its tables', 'DROP TABLE blobs'],
    ['StoreCorrupt', 'a table without a column', 'ALTER TABLE events DROP COLUMN metadata'],
    [
      'StoreCorrupt',
      'the tables of before 0.1.0',
      'DROP INDEX events_by_id; ALTER TABLE events DROP findable',
    ],
  ])('%s: a store with %s, and it stays as it is', async (_tag, _, sql) => {
    const path = await written()
    change(path, `DROP VIEW history; ${sql}; PRAGMA journal_mode = delete`)
    const before = readFileSync(path)
    const wayOut = expect.stringContaining(
      'before 0.1.0 wrote it, export its conversations with that version',
    )
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({ _tag, message: wayOut })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('a store that another process has brought to a newer schema is neither read nor written any more', async () => {
    const path = file()
    const store = await opened(path)
    const chat = store.conversation('c')
    await chat.append(hello)
    change(path, 'PRAGMA user_version = 4')
    const large = { role: 'user', content: 'x'.repeat(100_000) } as const
    for (const act of [
      () => chat.append(hello),
      () => chat.append([hello, hello]),
      () => store.conversation('d').append(hello),
      () => chat.append(large),
      () => chat.effective(),
      () => store.gc(),
      () => chat.verify(),
    ])
      await expect(act()).rejects.toMatchObject({
        _tag: 'StoreTooNew',
        message: expect.stringContaining('upgrade'),
      })
    change(path, 'PRAGMA user_version = 3')
    expect(await chat.append(hello)).toMatchObject({ position: 1 })
  })
})

describe('a store that commit 53f7f82 wrote', () => {
  const golden = readFileSync(new URL('../golden/stores/sqlite-53f7f82.sql', import.meta.url), 'utf8')
  /** What that commit looks at before it takes a file, and what it reads and writes. */
  const schemaOf = (path: string): unknown => {
    const db = new DatabaseSync(path)
    const schema = db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all()
    const version = db.prepare('SELECT * FROM pragma_application_id, pragma_user_version').get()
    db.close()
    return JSON.stringify([schema, version])
  }

  test('opens, reads, verifies and continues; that commit can read it as before', async () => {
    const path = file()
    change(path, golden)
    const before = schemaOf(path)
    const store = await opened(path)
    const [chat, fork] = [store.conversation('task-42'), store.conversation('task-43')]
    expect(await chat.verify()).toEqual({ conversation: 'task-42', events: 7, guessable: 7 })
    expect((await chat.effective()).map(({ position }) => position)).toEqual([0, 1, 2, 3])
    expect((await chat.effective({ at: 5 })).map(({ position }) => position)).toEqual([0, 5, 4])
    expect((await fork.effective())[2]).toMatchObject({
      content: [{ tool_use_id: 'toolu_1', content: 'it’s line 80. '.repeat(100) }],
    })
    expect(await chat.append(hello)).toMatchObject({ position: 7 })
    expect(await fork.append({ role: 'user', content: 'x'.repeat(70_000) })).toMatchObject({ position: 6 })
    for (const each of [chat, fork]) expect(await each.verify()).not.toHaveProperty('discrepancy')
    await store.close()
    expect(schemaOf(path)).toEqual(before)
  })
})

test('what is written is moved into the file before a commit would hold up the process for it', async () => {
  const path = file()
  const store = await opened(path)
  const content = 'x'.repeat(60_000)
  for (let n = 0; n < 60; n++) await store.conversation('c').append({ role: 'user', content })
  expect(statSync(`${path}-wal`).size).toBeLessThan(1.5 * 1024 * 1024)
})

test.skipIf(process.getuid?.() !== 0)(
  'a store or a backup of another user is named with its owner, its mode and what to do (skipped for users other than root)',
  async () => {
    const folder = temporaryFolder()
    chmodSync(folder, 0o777)
    const [path, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
    const store = await openStore(`sqlite:${path}`)
    await store.conversation('a').append({ role: 'user', content: 'Hi' })
    await store.backup(backup)
    await store.close()
    const child = startHeard(
      'store/children/denied-store.ts',
      `sqlite:${path}`,
      backup,
      `sqlite:${join(folder, 'restored.db')}`,
    )
    const [refused = '', unwritable = '', diagnosed = '', restored = ''] = (await ended(child)).output.split(
      '\n',
    )
    const denied = (own: string): string =>
      `${own} belongs to user 0 with mode 600, and this process, user 65534, may not use it; run the command as user 0, or as root give it to this user: chown 65534 ${own}`
    expect(refused).toContain(denied(path))
    expect(unwritable).toContain(`this user cannot write ${path} (of user 0 with mode 600)`)
    expect(diagnosed).toContain(denied(path))
    expect(restored).toContain(denied(backup))
  },
)
