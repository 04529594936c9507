import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { copyConversations, openStore } from '../../src/index.ts'
import { lackOfRoom } from '../../src/store/sqlite/rewrite.ts'
import { atEnd } from '../support/at-end.ts'
import { judged, onlyPython, python, runPython } from '../support/evidence/python.ts'
import { bytesIn, formsIn, formsOf } from '../support/forms.ts'
import { node, quiet } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const eraser = fileURLToPath(new URL('children/eraser.ts', import.meta.url))
const golden = fileURLToPath(new URL('../golden/', import.meta.url))
const bundles = join(golden, 'bundles/sqlite-685f4a1')
const ids = ['task-42', 'task-43', 'task-44']
const texts = [
  'My card is 4111-2222. Is it valid?',
  'The card 4111-2222 is valid.',
  'And my other card, 4333-4444?',
  'Card 4555-6666. All of it.',
]

test.skipIf(python === undefined)(
  `a store that 0.1.0 wrote can erase, and its ledger proves the old and the new bundles${onlyPython}`,
  async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'store.db')
    const db = new DatabaseSync(file)
    db.exec(readFileSync(join(golden, 'stores/sqlite-685f4a1.sql'), 'utf8'))
    db.exec("UPDATE blobs SET time = '2026-01-01T00:00:00.000Z'")
    const store = await openStore(`sqlite:${file}`)
    atEnd(store.close)
    const key = readFileSync(join(bundles, 'ledger.pub'), 'utf8').trim()
    const old = ids.map((id) => join(bundles, id))
    const isStored = () => texts.map((text) => formsIn(bytesIn(folder), formsOf(text)).length > 0)
    const verified = () => Promise.all(ids.map((id) => store.conversation(id).verify()))

    expect(isStored()).toEqual([true, true, true, true])
    db.close()
    expect(await verified()).toMatchObject([{ guessable: 7 }, { guessable: 4 }, { guessable: 3 }])
    for (const id of ids) await store.conversation(id).erase({ by: 'ann' })
    expect(isStored()).toEqual([false, false, false, false])
    for (const { discrepancy } of await verified()) expect(discrepancy).toBeUndefined()

    const now = temporaryFolder()
    for (const id of ids) {
      const chat = store.conversation(id)
      expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
      await chat.evidence({ folder: join(now, id), ledger: await store.audit.proof(id, { compare: true }) })
      const [before, after] = [join(bundles, id), join(now, id)].map((bundle) =>
        readFileSync(join(bundle, 'checkpoint.txt'), 'utf8'),
      )
      expect(after).toBe(before)
    }
    // The bundle of task-44 was written without its first event.
    expect(judged(old, key).status).toBe(3)
    const itsOwn = runPython(readFileSync(join(bundles, 'verify.py'), 'utf8'), ...old, '--key', key)
    expect(itsOwn.stdout.match(/^ {2}PROVEN.*$/gm)).toEqual([
      '  PROVEN',
      '  PROVEN',
      '  PROVEN, APART FROM WHAT IS LEFT OUT',
    ])
    const fresh = judged(
      ids.map((id) => join(now, id)),
      key,
    )
    // Nothing contradicts them; only the `Erased` events are not sealed.
    for (const lines of fresh.said.values())
      expect(lines.at(-1)).toBe('NOT PROVEN: the last event is newer than the ledger')
    expect(fresh.said.size).toBe(3)
  },
)

/** Needle in pages that 0.1.0 freed, which belong to no event. */
const freed = 'My address is Elm Street 12.'

/** A file that 0.1.0 wrote, with pages that it freed and did not overwrite. */
const fileOf010 = (keptBytes = 0) => {
  const folder = temporaryFolder()
  const file = join(folder, 'store.db')
  const db = new DatabaseSync(file)
  db.exec(readFileSync(join(golden, 'stores/sqlite-685f4a1.sql'), 'utf8'))
  // No version of SQLite overwrites by default what it frees.
  db.exec(`PRAGMA secure_delete = OFF; CREATE TABLE freed (text TEXT);
    WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
    INSERT INTO freed SELECT '${freed}' || hex(randomblob(500)) FROM n;
    DROP TABLE freed; CREATE TABLE kept AS SELECT zeroblob(${keptBytes})`)
  db.close()
  return { file, folder, url: `sqlite:${file}` }
}
const versionOf = (file: string) => {
  const db = new DatabaseSync(file)
  try {
    return db.prepare('PRAGMA user_version').get()?.['user_version']
  } finally {
    db.close()
  }
}
const hasFreed = (folder: string) => formsIn(bytesIn(folder), formsOf(freed)).length > 0

describe('the first erasure in a file that 0.1.0 wrote', () => {
  test('rewrites the file, so that nothing is left in its unused parts; later ones do not', async () => {
    const { file, folder, url } = fileOf010()
    const store = await openStore(url)
    atEnd(store.close)
    const chat = store.conversation('task-42')
    const { size } = statSync(file)

    expect(await chat.erase({ dryRun: true })).toMatchObject({ rewritten: size })
    expect([hasFreed(folder), versionOf(file)]).toEqual([true, 2])
    const [first, second] = await Promise.all([
      chat.erase({ positions: [1] }),
      store.conversation('task-43').erase(),
    ])
    expect(first.rewritten ?? second.rewritten).toBe(size)
    expect([hasFreed(folder), versionOf(file)]).toEqual([false, 3])
    expect(await chat.erase()).not.toHaveProperty('rewritten')
    for (const id of ids) expect((await store.conversation(id).verify()).discrepancy).toBeUndefined()
    expect(await chat.append({ role: 'user', content: 'Hello again.' })).toMatchObject({})
  })

  test('is one by a retention rule, too, which says so before', async () => {
    const store = await openStore(fileOf010().url)
    atEnd(store.close)
    await store.conversation('task-42').append({ role: 'user', content: 'Old.' }, { now: new Date(0) })
    await store.retention.set({ prefix: '', keep: { months: 12 }, by: 'ann' })
    for (const dryRun of [true, false])
      expect(await store.retention.apply({ dryRun })).toMatchObject({
        events: 1,
        rewritten: expect.any(Number),
      })
  })

  test('erases nothing while another process keeps the write lock, and says what to do', async () => {
    const { file, folder, url } = fileOf010()
    const store = await openStore(`${url}?timeout=50`)
    atEnd(store.close)
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    await expect(store.conversation('task-42').erase()).rejects.toMatchObject({
      _tag: 'StoreBusy',
      message: expect.stringContaining('stop the server and the workers, then repeat the command'),
    })
    other.exec('ROLLBACK')
    other.close()
    expect(hasFreed(folder)).toBe(true)
    expect(await store.conversation('task-42').erase()).toHaveProperty('rewritten')
    expect(hasFreed(folder)).toBe(false)
  })

  test('rewrites the file again if it was killed meanwhile', async () => {
    const { file, folder, url } = fileOf010(20_000_000)
    const child = spawn(node, [eraser, url, 'task-42'], { env: quiet, stdio: ['ignore', 'pipe', 'inherit'] })
    atEnd(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    await vi.waitFor(
      () =>
        expect(
          child.exitCode !== null ||
            (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 1_000_000,
        ).toBe(true),
      { timeout: 60_000, interval: 1 },
    )
    child.kill('SIGKILL')
    await ended
    const store = await openStore(url)
    atEnd(store.close)
    const version = versionOf(file)
    const { rewritten } = await store.conversation('task-42').erase()
    // The kill may have come too late.
    expect(rewritten !== undefined).toBe(version === 2)
    expect([hasFreed(folder), versionOf(file)]).toEqual([false, 3])
    expect((await store.conversation('task-42').verify()).discrepancy).toBeUndefined()
  })

  test('is refused before anything is written if a second copy of the file has no room', () => {
    const folder = temporaryFolder()
    expect(lackOfRoom('sqlite:store.db', 2 ** 60, [folder, folder])).toMatchObject({
      _tag: 'StoreFull',
      message: expect.stringContaining('free some, then repeat the command'),
    })
    expect(lackOfRoom('sqlite:store.db', 1, [folder, folder])).toBeUndefined()
  })

  test('is one by copy, too', async () => {
    const [from, to] = [fileOf010(), fileOf010()]
    const store = await openStore(from.url)
    await store.conversation('task-42').erase()
    await store.close()
    await copyConversations({ from: from.url, to: to.url, ids: ['task-42'] })
    expect(hasFreed(to.folder)).toBe(false)
  })
})
