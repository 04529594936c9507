import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'hello' } as const

/** A store with the conversations a, b and c of three messages each, changed with SQL where no table is STRICT. */
const changed = async (sql: string): Promise<Store> => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await openStore(`sqlite:${path}`)
  for (const id of ['a', 'b', 'c']) await store.conversation(id).append([hello, hello, hello])
  await store.close()
  const db = new DatabaseSync(path)
  db.enableDefensive?.(false)
  db.exec('PRAGMA writable_schema = ON')
  db.exec(
    `UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '') WHERE type = 'table'`,
  )
  db.exec('PRAGMA writable_schema = RESET')
  db.exec(sql)
  db.exec('PRAGMA writable_schema = ON')
  db.exec(`UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name IN ('events', 'streams', 'blobs')`)
  db.close()
  const opened = await openStore(`sqlite:${path}`)
  atEnd(opened.close)
  return opened
}
const overviews = async (store: Store): Promise<readonly (readonly [string, boolean])[]> => {
  const all: (readonly [string, boolean])[] = []
  for await (const { id, problem } of store.conversations()) all.push([id, problem !== undefined])
  return all
}
const set = (assignment: string, revision = 1): string =>
  `UPDATE events SET ${assignment} WHERE stream = 2 AND revision = ${revision}`

/** Content that nothing refers to. */
const unused = `INSERT INTO blobs VALUES ('${'0'.repeat(64)}', 1, '2020-01-01T00:00:00.000Z')`

const itsOwn = { _tag: expect.stringMatching(/^(DecodeFailed|HistoryLost)$/) }

describe('an impossible row harms only its own conversation', () => {
  const rows: readonly (readonly [what: string, sql: string])[] = [
    ['data is NULL', set('data = NULL')],
    ['data is a number', set('data = 5')],
    ['data is a BLOB', set('data = CAST(data AS BLOB)')],
    ['data is no UTF-8', set(`data = CAST(replace(CAST(data AS BLOB), X'68656c6c6f', X'fffefd') AS TEXT)`)],
    ['metadata is NULL', set('metadata = NULL')],
    ['metadata is a BLOB', set('metadata = CAST(metadata AS BLOB)')],
    ['the id is NULL', set('id = NULL')],
    ['the id is a number', set('id = 1.5')],
    ['the type is NULL', set('type = NULL')],
    ['the type is a BLOB', set(`type = X'00'`)],
    ['the revision is larger than a number can be', set('revision = 9223372036854775807', 2)],
    ['the revision is negative', set('revision = -5', 0)],
    ['the revision is a text', set(`revision = 'one'`)],
    ['the revision is a fraction', set('revision = 1.5')],
    ['the revision is NULL', set('revision = NULL')],
    ['the position is larger than a number can be', set('position = 9223372036854775807')],
    ['the first event is NULL', set('data = NULL', 0)],
    ['the last event is NULL', set('data = NULL', 2)],
  ]

  test.each(rows)('%s', async (_, sql) => {
    const store = await changed(sql)
    expect((await overviews(store)).filter(([id]) => id !== 'b')).toEqual([
      ['c', false],
      ['a', false],
    ])
    for (const id of ['a', 'c'])
      expect(await store.conversation(id).verify({ file: false })).toEqual({ conversation: id, events: 3 })
    const verified = await store.conversation('b').verify({ file: false })
    expect(verified.discrepancy).toMatchObject({ message: expect.any(String) })
    const b = store.conversation('b')
    for (const read of [b.effective, b.full, b.timeline, b.position])
      await read().catch((error: unknown) => expect(error).toMatchObject(itsOwn))
    await expect(
      Promise.all(['a', 'c'].map((id) => store.conversation(id).append(hello))),
    ).resolves.toMatchObject([{ position: 3 }, { position: 3 }])
  })

  test.each([
    [
      'a name that is no UTF-8',
      `UPDATE streams SET name = CAST(X'636f6e766572736174696f6e2dff' AS TEXT) WHERE id = 2`,
    ],
    ['a name that is a BLOB', 'UPDATE streams SET name = CAST(name AS BLOB) WHERE id = 2'],
    ['a name that is NULL', 'UPDATE streams SET name = NULL WHERE id = 2'],
    ['an end beyond every number', 'UPDATE streams SET last = 9223372036854775807 WHERE id = 2'],
    ['an end that is a text', `UPDATE streams SET last = 'x', hash = X'00' WHERE id = 2`],
  ])('%s of a stream', async (_, sql) => {
    const store = await changed(sql)
    const healthy = (await overviews(store)).filter(([id]) => id === 'a' || id === 'c')
    expect(healthy).toEqual([
      ['c', false],
      ['a', false],
    ])
    for (const id of ['a', 'c'])
      expect(await store.conversation(id).verify({ file: false })).toEqual({ conversation: id, events: 3 })
  })

  test('what is read of all conversations ends there, and says where', async () => {
    const store = await changed(`${set('data = NULL')}; ${unused}`)
    const read = async (): Promise<number> => {
      let seen = 0
      for await (const _ of store.readAll()) seen++
      return seen
    }
    const failed = { _tag: 'DecodeFailed', stream: 'conversation-b', revision: 1 }
    await expect(read()).rejects.toMatchObject(failed)
    await expect(store.gc()).rejects.toMatchObject(failed)
  })

  test('gc removes nothing where it cannot tell what an event refers to, as its stream is gone', async () => {
    const store = await changed(`DELETE FROM streams WHERE id = 2; ${unused}`)
    await expect(store.gc()).rejects.toMatchObject({ _tag: 'DecodeFailed' })
    expect(await overviews(store)).toEqual([
      ['c', false],
      ['a', false],
    ])
  })

  test('a gap in the positions, however wide, is passed in one step', async () => {
    const store = await changed('UPDATE events SET position = 9007199254740991 WHERE position = 9')
    let seen = 0
    for await (const _ of store.readAll()) seen++
    expect(seen).toBe(9)
  })
})
