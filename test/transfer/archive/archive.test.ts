import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer } from 'node:stream/consumers'
import { zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { copyConversations, isError, openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { runs } from '../../support/runs.ts'
import { type Origin, present, sessionFile } from '../../support/sessions.ts'
import { opened, temporaryFolder } from '../../support/stores.ts'

const jsonl = (value: object): string => `${JSON.stringify(value)}\n`
const said = (id: number, text: string): string =>
  jsonl({
    type: 'message',
    id: `e${id}`,
    parentId: id === 0 ? null : `e${id - 1}`,
    timestamp: '2026-01-01T00:00:00.000Z',
    message: { role: id % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text }] },
  })
const head = jsonl({ type: 'session', version: 3, id: 's', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' })
const file = (length: number, text = 'text'): string =>
  head + Array.from({ length }, (_, id) => said(id, `${text} ${id}`)).join('')

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
const imported = (store: Store, content: string | Uint8Array, options = {}) =>
  store.importSession({ file: 's.jsonl', skipBadLines: true, bytes: once(Buffer.from(content)) }, options)

const originalOf = async (store: Store, id = 's'): Promise<Buffer> => {
  const { pieces, bytes, sha256 } = await store.conversation(id).original()
  const all = await buffer(pieces)
  const hash = createHash('sha256').update(all).digest('hex')
  expect({ bytes: all.length, sha256: hash }).toEqual({ bytes, sha256 })
  return all
}
const notKept = (store: Store, id = 's'): Promise<string> =>
  store
    .conversation(id)
    .original()
    .then(
      () => 'kept',
      (error: unknown) => (isError(error, 'OriginalNotKept') ? error.message : String(error)),
    )

describe('the file of an imported conversation', () => {
  test('comes back to the byte, also bytes that are no UTF-8, however it grew', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 6 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
        async (tails, cuts) => {
          const whole = Buffer.concat([
            Buffer.from(head),
            ...tails.flatMap((tail, id) => [
              Buffer.from(said(id, `text ${id}`)),
              Buffer.from(`{"type":"label","id":"l${id}","x":"`),
              Buffer.from(tail.map((byte) => (byte < 0x20 || byte === 0x22 || byte === 0x5c ? 0x80 : byte))),
              Buffer.from('"}\n'),
            ]),
          ])
          const store = await openStore('memory:')
          const least = head.length + said(0, 'text 0').length
          const ends = cuts.map((cut) => least + Math.floor(cut * (whole.length - least)))
          for (const end of [...ends.toSorted((one, other) => one - other), whole.length]) {
            await imported(store, whole.subarray(0, end))
            expect(await originalOf(store)).toEqual(whole.subarray(0, end))
          }
          await store.close()
        },
      ),
      { numRuns: runs(30) },
    ))

  const real: readonly (readonly [Origin, string])[] = [
    ['sample', 'claude-code/session-with-compaction.jsonl'],
    ['real', 'claude-code/session-with-compaction.jsonl'],
    ['real', 'pi/before-compaction.jsonl'],
  ]
  test.each(present(real))('%s %s: is archived in at most 0.41 of its size', async (origin, name) => {
    const { text } = sessionFile(origin, name)
    const folder = temporaryFolder()
    const url = `sqlite:${join(folder, 'a.db')}`
    const store = await opened(url)
    const { conversations } = await store.importSession({ file: name, text })
    const id = conversations[0]?.id ?? ''
    expect((await originalOf(store, id)).toString()).toBe(text)
    await store.close()
    const db = new DatabaseSync(join(folder, 'a.db'))
    const { bytes } = db
      .prepare(
        `SELECT sum(length(data) + length(metadata)) AS bytes FROM events JOIN streams ON streams.id = events.stream WHERE name = ?`,
      )
      .get(`archive-${id}`) as { readonly bytes: number }
    db.close()
    expect(bytes / text.length).toBeLessThan(0.41)
  })

  test('is archived once: importing it again, or its beginning, adds nothing', async () => {
    const store = await opened('memory:')
    await imported(store, file(8))
    const count = async (): Promise<number> => {
      const { bytes } = await store.conversation('s').original()
      return bytes
    }
    const before = await count()
    await imported(store, file(8))
    await imported(store, file(3))
    expect(await count()).toBe(before)
    expect((await originalOf(store)).toString()).toBe(file(8))
  })

  test('that was rewritten is archived anew', async () => {
    const store = await opened('memory:')
    await imported(store, file(4))
    const compacted = file(4).replace('"cwd":"/"', '"cwd":"/elsewhere"') + said(4, 'more')
    await imported(store, compacted)
    expect((await originalOf(store)).toString()).toBe(compacted)
  })

  test('is not archived if the caller does not want it, and says so', async () => {
    const store = await opened('memory:')
    await imported(store, file(2), { archive: false })
    expect(await notKept(store)).toBe(
      'the store does not have the original file of s: it was not imported, or its file was not archived',
    )
    await imported(store, file(2))
    expect((await originalOf(store)).toString()).toBe(file(2))
  })

  test('goes with the store: copied, verified, and not changed without notice', async () => {
    const folder = temporaryFolder()
    const [from, to] = [`sqlite:${join(folder, 'a.db')}`, `sqlite:${join(folder, 'b.db')}`]
    const store = await opened(from)
    await imported(store, file(6))
    await copyConversations({ from, to })
    const copy = await opened(to)
    expect((await originalOf(copy)).toString()).toBe(file(6))
    expect((await copy.conversation('s').verify()).discrepancy).toBeUndefined()
    await copy.close()
    const db = new DatabaseSync(join(folder, 'b.db'))
    db.exec(
      `UPDATE events SET data = replace(data, '"from":0', '"from":1') WHERE stream = (SELECT id FROM streams WHERE name = 'archive-s')`,
    )
    db.close()
    const changed = await opened(to)
    expect((await changed.conversation('s').verify()).discrepancy).toMatchObject({
      kind: 'archive',
      position: 0,
    })
  })
})

describe('an erasure', () => {
  const needle = 'walrus-4711'
  const found = (folder: string, name: string): boolean => {
    const db = new DatabaseSync(join(folder, name), { readOnly: true })
    const rows = db
      .prepare(`SELECT data FROM events WHERE stream = (SELECT id FROM streams WHERE name = 'archive-s')`)
      .all()
    db.close()
    return rows.some(({ data }) => {
      const { zstd } = JSON.parse(String(data)) as { readonly zstd?: string }
      return zstd !== undefined && zstdDecompressSync(Buffer.from(zstd, 'base64')).includes(needle)
    })
  }

  test.each([{ positions: [1] }, {}, { before: new Date('2026-02-01') }])(
    'with %j takes the file with it, and an import does not bring it back',
    async (options) => {
      const folder = temporaryFolder()
      const store = await opened(`sqlite:${join(folder, 'a.db')}`)
      await imported(store, file(4, needle))
      expect(found(folder, 'a.db')).toBe(true)
      const dry = await store.conversation('s').erase({ ...options, dryRun: true })
      expect(dry.archive).toBe(1)
      expect(await store.conversation('s').erase(options)).toMatchObject({ archive: 1 })
      expect(found(folder, 'a.db')).toBe(false)
      expect(await notKept(store)).toContain('it was erased at ')
      await imported(store, file(4, needle) + said(4, 'more'))
      expect(found(folder, 'a.db')).toBe(false)
      expect((await store.conversation('s').verify()).discrepancy).toBeUndefined()
    },
  )

  test('of what the file does not have leaves it', async () => {
    const store = await opened('memory:')
    await imported(store, file(2))
    const { archive } = await store.conversation('s').erase({ before: new Date('2025-01-01') })
    expect(archive).toBe(0)
    expect((await originalOf(store)).toString()).toBe(file(2))
  })

  test('before the file was archived keeps it from being archived', async () => {
    const store = await opened('memory:')
    await imported(store, file(2, needle), { archive: false })
    await store.conversation('s').erase({ positions: [0] })
    await imported(store, file(2, needle))
    expect(await notKept(store)).toContain('was not archived')
  })
})
