import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { temporaryFolder } from '../support/stores.ts'

const said = (content: string) => ({ role: 'user', content }) as const

/** A store whose index by stream and revision lacks some rows, as after a lost write: reads go through it. */
const withDamagedIndex = async (path: string, where: string): Promise<void> => {
  const store = await openStore(`sqlite:${path}`)
  for (const id of ['a', 'b'])
    await store.conversation(id).append(Array.from({ length: 60 }, (_, n) => said(`${n}`)))
  await store.close()
  const db = new DatabaseSync(path)
  db.enableDefensive?.(false)
  const index = `name = 'sqlite_autoindex_events_1'`
  const { rootpage } = db.prepare(`SELECT rootpage FROM sqlite_schema WHERE ${index}`).get() ?? {}
  // A table without the index, rows deleted from it alone, then the index again.
  db.exec(`CREATE TABLE twin (stream, revision, x, UNIQUE (stream, revision));
    INSERT INTO twin SELECT stream, revision, position FROM events ORDER BY position;
    DELETE FROM twin WHERE ${where}`)
  const { twin } =
    db.prepare(`SELECT rootpage AS twin FROM sqlite_schema WHERE name = 'sqlite_autoindex_twin_1'`).get() ??
    {}
  db.exec('PRAGMA writable_schema = ON')
  db.exec(`UPDATE sqlite_schema SET rootpage = ${String(twin)} WHERE ${index}`)
  db.exec(`UPDATE sqlite_schema SET rootpage = ${String(rootpage)} WHERE name = 'sqlite_autoindex_twin_1'`)
  db.exec('PRAGMA writable_schema = OFF')
  db.close()
}

describe('an index that lacks rows of its table', () => {
  test.each([
    ['in the middle', 'stream = 1 AND revision BETWEEN 3 AND 57'],
    ['at the end', 'stream = 1 AND revision > 2'],
    ['everywhere', 'stream = 1'],
  ])('%s is found by verify, check and the command line, and nothing reads for ever', async (_, where) => {
    const path = join(temporaryFolder(), 'store.db')
    await withDamagedIndex(path, where)
    const store = await openStore(`sqlite:${path}`)
    await expect(store.check()).rejects.toMatchObject({
      _tag: 'StoreCorrupt',
      message: expect.stringMatching(/missing from index|wrong # of entries/),
    })
    const [a, b] = [store.conversation('a'), store.conversation('b')]
    const found = await a.verify().then(
      ({ discrepancy }) => discrepancy,
      (error: unknown) => error,
    )
    expect(found).toBeDefined()
    await expect(b.verify()).rejects.toMatchObject({ _tag: 'StoreCorrupt' })
    expect(await b.verify({ file: false })).toEqual({ conversation: 'b', events: 60 })
    for (const chat of [a, b])
      await Promise.allSettled([
        chat.effective(),
        chat.full(),
        chat.timeline(),
        chat.render(),
        chat.position(),
      ])
    await store.close()
    await inDirectory(async (directory) => {
      const { stdout, code } = await shell(`palimpsest verify --store sqlite:${path}`, directory)
      expect(stdout).toMatch(/^DAMAGED {2}sqlite:.*\n/)
      expect(stdout).toMatch(/^ok +b /m)
      expect(code).toBe(1)
    })
  })

  test('a store that is whole passes', async () => {
    const store = await openStore(`sqlite:${join(temporaryFolder(), 'store.db')}`)
    await store.conversation('a').append(said('x'))
    await store.check()
    expect(await store.conversation('a').verify()).toEqual({ conversation: 'a', events: 1 })
    await store.close()
    await expect(store.check()).rejects.toMatchObject({ _tag: 'StoreClosed' })
    const inMemory = await openStore('memory:')
    await inMemory.check()
    await inMemory.close()
  })
})
