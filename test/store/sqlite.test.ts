import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openStore } from 'palimpsest'
import { describe, expect, test, vi } from 'vitest'
import { atEnd } from '../support/at-end.ts'
import { mountProblem, runMounted } from '../support/node.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { right } from '../support/either.ts'
import { temporaryFolder } from '../support/stores.ts'

const file = (): string => join(temporaryFolder(), 'store.db')
const hello = { role: 'user', content: 'hello' } as const

/** A file with one conversation of one message, closed. */
const written = async (): Promise<string> => {
  const path = file()
  const store = await openStore(`sqlite:${path}`)
  await store.conversation('c').append(hello)
  await store.close()
  return path
}

/** How many transactions the write-ahead log holds: a frame that ends one has the database's size in its header. */
const commits = (path: string): number => {
  const wal = readFileSync(`${path}-wal`)
  const frame = 24 + wal.readUInt32BE(8)
  let count = 0
  for (let at = 32; at + frame <= wal.length; at += frame) if (wal.readUInt32BE(at + 4) > 0) count++
  return count
}

describe('an SQLite store', () => {
  test('keeps conversations over a restart', async () => {
    const path = await written()
    const store = await openStore(`sqlite:${path}`)
    expect(await store.conversation('c').full()).toHaveLength(1)
    await store.close()
  })

  test('is readable with any SQLite tool: plain JSON in its columns', async () => {
    const db = new DatabaseSync(await written())
    const row = db
      .prepare("SELECT stream, type, role, json_extract(data, '$.content[0].text') AS text FROM history")
      .get()
    expect({ ...row }).toEqual({
      stream: 'conversation-c',
      type: 'MessageAppended',
      role: 'user',
      text: 'hello',
    })
    db.close()
  })

  test.each([
    ['changed', `UPDATE events SET data = replace(data, 'last', 'lost') WHERE revision = 2`],
    ['lost', 'DELETE FROM events WHERE revision = 2'],
    ['lost, with all before it', 'DELETE FROM events'],
  ])(
    'remembers how a stream ended, closed or in a pause: verify finds that its last event was %s',
    async (_, sql) => {
      const path = file()
      const store = await openStore(`sqlite:${path}`)
      for (const content of ['first', 'second', 'last'])
        await store.conversation('c').append({ role: 'user', content })
      const db = new DatabaseSync(path)
      const head = db.prepare('SELECT last FROM streams')
      while (head.get()?.['last'] !== 2) await new Promise((resolve) => setTimeout(resolve, 20))
      expect(await store.conversation('c').verify()).toEqual({ conversation: 'c', events: 3 })
      db.exec(sql)
      expect(await store.conversation('c').verify()).toMatchObject({ discrepancy: { kind: 'end' } })
      db.close()
      await store.close()
    },
  )

  test('waits for the disk at every commit unless the URL says otherwise', async () => {
    const path = await written()
    const store = await openStore(`sqlite:${path}?synchronous=off`)
    await store.conversation('c').append(hello)
    await store.close()
    await expect(openStore(`sqlite:${path}?synchronous=sometimes`)).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
    await expect(openStore(`sqlite:${path}?sync=off`)).rejects.toThrow('unknown parameter sync')
    await expect(openStore(`sqlite:${path}?timeout=-1`)).rejects.toThrow('milliseconds')
    await expect(openStore('sqlite:')).rejects.toThrow('name a file')
  })

  test('brings a file of an older version to the newest schema, and leaves its conversations as they were', async () => {
    const path = await written()
    const db = new DatabaseSync(path)
    db.exec('DROP TABLE blobs; DROP TABLE blob_chunks; PRAGMA user_version = 1')
    db.close()
    const store = await openStore(`sqlite:${path}`)
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'large '.repeat(20_000) })
    expect(await chat.effective()).toMatchObject([{}, { content: [{ text: 'large '.repeat(20_000) }] }])
    expect(await chat.verify()).toEqual({ conversation: 'c', events: 2 })
    await store.close()
    const migrated = new DatabaseSync(path)
    expect({ ...migrated.prepare('PRAGMA user_version').get() }).toEqual({ user_version: 2 })
    migrated.close()
  })

  test('keeps large content in tables of its own, in chunks, and waits for the lock of another process', async () => {
    const path = await written()
    const other = new DatabaseSync(path)
    const store = await openStore(`sqlite:${path}`)
    other.exec('BEGIN IMMEDIATE')
    const waiting = store.conversation('c').append({ role: 'user', content: 'x'.repeat(1_200_000) })
    await new Promise((resolve) => setTimeout(resolve, 30))
    other.exec('COMMIT')
    await waiting
    const chunks = other.prepare('SELECT sha256, n, length(chunk) AS bytes FROM blob_chunks ORDER BY n').all()
    const [blob] = other.prepare('SELECT sha256, bytes FROM blobs').all()
    expect(chunks.map(({ n, bytes }) => [n, bytes])).toEqual([
      [0, 524_288],
      [1, 524_288],
      [2, 151_424],
    ])
    expect({ ...blob }).toEqual({ sha256: chunks[0]?.['sha256'], bytes: 1_200_000 })
    other.exec('BEGIN IMMEDIATE')
    const impatient = await openStore(`sqlite:${path}?timeout=50`)
    await expect(
      impatient.conversation('c').append({ role: 'user', content: 'y'.repeat(70_000) }),
    ).rejects.toMatchObject({ _tag: 'StoreBusy' })
    other.exec('ROLLBACK')
    other.close()
    await impatient.close()
    await store.close()
  })

  test('refuses a store of a newer palimpsest', async () => {
    const path = await written()
    const db = new DatabaseSync(path)
    db.exec('PRAGMA user_version = 99')
    db.close()
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({
      _tag: 'StoreTooNew',
      message: expect.stringContaining(path),
    })
  })

  test('refuses a file that is not an SQLite database, and leaves it as it is', async () => {
    const path = file()
    writeFileSync(path, 'not a database '.repeat(500))
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({
      _tag: 'StoreCorrupt',
      message: expect.stringContaining(path),
    })
    expect(readFileSync(path, 'utf8')).toBe('not a database '.repeat(500))
  })

  test('refuses a database of another program, and leaves it as it is', async () => {
    const path = file()
    const db = new DatabaseSync(path)
    db.exec('CREATE TABLE recipes (name TEXT)')
    db.close()
    const before = readFileSync(path)
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({
      _tag: 'StoreCorrupt',
      message: expect.stringContaining('another program'),
    })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('ends a page of long events early, and leaves none out, in both directions', async () => {
    const store = right(await openSqlite(`sqlite:${file()}`)())
    const events = Array.from({ length: 400 }, (_, n) => ({
      id: `e${n}`,
      type: 'T',
      // The long ones come when a reader has got used to short ones.
      data: JSON.stringify('x'.repeat(n > 150 && n < 200 ? 100_000 : 10)),
      metadata: '{}',
    }))
    right(await store.append({ stream: 's', events, expected: -1 })())
    for (const direction of ['forwards', 'backwards'] as const) {
      const read: number[] = []
      const sizes: number[] = []
      while (read.length < events.length) {
        const from = direction === 'forwards' ? read.length : events.length - 1 - read.length
        const page = right(await store.read({ stream: 's', from, direction, limit: 300 })())
        read.push(...page.map(({ revision }) => revision))
        sizes.push(page.length)
      }
      const all = Array.from(events.keys())
      expect(read).toEqual(direction === 'forwards' ? all : all.toReversed())
      expect(sizes[0]).toBeLessThan(300)
    }
    await store.close()()
  })

  test('names a file whose pages are damaged, and the event that cannot be read', async () => {
    const path = file()
    const store = await openStore(`sqlite:${path}`)
    for (let n = 0; n < 50; n++)
      await store.conversation('c').append({ role: 'user', content: 'x'.repeat(2_000) })
    await store.close()
    const bytes = readFileSync(path)
    bytes.fill(0xa5, 4_096 * 4, 4_096 * 12)
    writeFileSync(path, bytes)
    const failed = openStore(`sqlite:${path}`).then(async (damaged) => {
      const result = await damaged.conversation('c').full()
      return result.length
    })
    await expect(failed).rejects.toMatchObject({
      message: expect.stringContaining(path),
      _tag: 'StoreCorrupt',
    })
  })

  test('answers StoreUnavailable where the folder is missing', async () => {
    const path = join(temporaryFolder(), 'nowhere', 'store.db')
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({
      _tag: 'StoreUnavailable',
      message: expect.stringContaining(path),
    })
  })

  test('answers StoreBusy when another process holds the lock for longer than the timeout, and recovers', async () => {
    const path = await written()
    const other = new DatabaseSync(path)
    const store = await openStore(`sqlite:${path}?timeout=50`)
    other.exec('BEGIN IMMEDIATE')
    await expect(store.conversation('c').append(hello)).rejects.toMatchObject({
      _tag: 'StoreBusy',
      message: expect.stringContaining(path),
    })
    expect(await store.conversation('c').full()).toHaveLength(1)
    const waiting = store.conversation('c').append(hello)
    other.exec('ROLLBACK')
    other.close()
    expect(await waiting).toMatchObject({ position: 1 })
    await store.close()
  })

  test('writes the appends of a tick in one transaction, each with an outcome of its own', async () => {
    // Where streams end is written after a pause, in a transaction of its own.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    atEnd(() => void vi.useRealTimers())
    const path = file()
    const store = right(await openSqlite(`sqlite:${path}`)())
    let next = 0
    const append = (stream: string, expected: number) =>
      store.append({
        stream,
        expected,
        events: [{ id: `${stream}-${next++}`, type: 'T', data: '{}', metadata: '{}' }],
      })()
    right(await append('c', -1))
    const before = commits(path)
    const all = Array.from({ length: 20 }, (_, n) => append(`d${n}`, -1))
    const late = append('c', -1)
    expect((await Promise.all(all)).map(right)).toEqual(all.map(() => 'written'))
    expect(await late).toMatchObject({ left: { _tag: 'Conflict' } })
    expect(commits(path) - before).toBe(1)
    await store.close()()
  })

  test('writes where streams end with an append that comes anyway, not in a transaction of its own', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    atEnd(() => void vi.useRealTimers())
    const path = file()
    const store = await openStore(`sqlite:${path}`)
    const chat = store.conversation('c')
    await chat.append(hello)
    const before = commits(path)
    const db = new DatabaseSync(path)
    const last = () => db.prepare('SELECT last FROM streams').get()?.['last']
    await chat.append(hello)
    expect(last()).toBeNull()
    vi.advanceTimersByTime(100)
    await chat.append(hello)
    expect(last()).toBe(1)
    expect(commits(path) - before).toBe(2)
    db.close()
    await store.close()
  })

  test("shows another connection's writes to a follower within 200 ms of its clock, whatever the system says", async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    atEnd(() => void vi.useRealTimers())
    const path = await written()
    const [reader, writer] = [await openStore(`sqlite:${path}`), await openStore(`sqlite:${path}`)]
    const stop = new AbortController()
    let seen = 0
    const following = (async () => {
      const chat = reader.conversation('c')
      for await (const { position } of chat.events({ follow: true, signal: stop.signal })) seen = position
    })()
    for (let position = 1; position <= 10; position++) {
      await writer.conversation('c').append(hello)
      for (let ms = 0; ms < 200 && seen < position; ms++) {
        vi.advanceTimersByTime(1)
        await nextTurn()
      }
      expect(seen).toBe(position)
    }
    stop.abort()
    await following
    await reader.close()
    await writer.close()
  })

  test.skipIf(mountProblem)(
    `answers StoreFull on a full disk and continues once there is room${mountProblem ? ` (skipped: ${mountProblem})` : ''}`,
    () => {
      const folder = temporaryFolder()
      const output = runMounted(
        `mount -t tmpfs -o size=1m tmpfs ${folder}`,
        'store/children/full-disk.ts',
        folder,
      )
      const seen = JSON.parse(output) as Record<string, number>
      expect(seen['acknowledged']).toBeGreaterThan(0)
      expect(seen).toMatchObject({
        error: { _tag: 'StoreFull', message: expect.stringContaining(join(folder, 'store.db')) },
        stored: seen['acknowledged'],
        later: (seen['acknowledged'] ?? 0) + 1,
        verified: { events: (seen['acknowledged'] ?? 0) + 1 },
      })
      expect(seen['verified']).not.toHaveProperty('discrepancy')
    },
  )

  test.skipIf(mountProblem)(
    `answers StoreFull if the disk was full before, the diagnosis too${mountProblem ? ` (skipped: ${mountProblem})` : ''}`,
    () => {
      const folder = temporaryFolder()
      const seen: unknown = JSON.parse(
        runMounted(`mount -t tmpfs -o size=1m tmpfs ${folder}`, 'store/children/no-room.ts', folder),
      )
      expect(seen).toMatchObject({
        opened: { _tag: 'StoreFull', message: expect.stringContaining('the disk is full') },
        diagnosed: {
          right: expect.arrayContaining([
            expect.objectContaining({ check: 'free room', status: 'problem' }),
          ]) as unknown,
        },
      })
    },
  )

  test.skipIf(mountProblem)(
    `answers StoreReadOnly on a read-only disk, the diagnosis too${mountProblem ? ` (skipped: ${mountProblem})` : ''}`,
    async () => {
      const path = await written()
      const folder = join(path, '..')
      const readOnly = `mount --bind ${folder} ${folder} && mount -o remount,ro,bind ${folder}`
      const seen: unknown = JSON.parse(runMounted(readOnly, 'store/children/read-only.ts', `sqlite:${path}`))
      expect(seen).toMatchObject({
        opened: { _tag: 'StoreReadOnly', message: expect.stringContaining(path) },
        diagnosed: {
          right: [
            { check: 'file', status: 'ok' },
            {
              status: 'problem',
              message: expect.stringContaining('even reading it requires writing files next to it'),
            },
          ],
        },
      })
    },
  )

  test.skipIf(process.getuid?.() === 0)(
    'answers StoreReadOnly on a read-only file (skipped for root, whom no permission stops)',
    async () => {
      const path = await written()
      chmodSync(path, 0o444)
      const failed = openStore(`sqlite:${path}`).then((store) => store.conversation('c').append(hello))
      await expect(failed).rejects.toMatchObject({
        _tag: 'StoreReadOnly',
        message: expect.stringContaining(path),
      })
    },
  )
})
