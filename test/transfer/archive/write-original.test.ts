import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { isError, openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { right } from '../../support/either.ts'
import { runs } from '../../support/runs.ts'
import { opened, temporaryFolder } from '../../support/stores.ts'

const originalOf = async (store: Store, id = 's') => {
  const { pieces, sha256, ...rest } = await store.conversation(id).original()
  const bytes = await buffer(pieces)
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
  expect(rest.bytes).toBe(bytes.length)
  return { text: bytes.toString(), ...rest }
}
const tagOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: unknown) => (isError(error) ? error._tag : String(error)),
  )

const listed = async (store: Store): Promise<readonly unknown[]> => {
  const all: unknown[] = []
  for await (const each of store.originals()) all.push(each)
  return all
}
const cutOff = { _tag: 'StoreFull', message: 'cut off', store: 'sqlite:' } as const

describe('a file that is kept beside a conversation', () => {
  test('is what was written, however it grows or is written anew from an offset', () => {
    const text = fc.oneof(
      fc.string({ minLength: 1, maxLength: 40 }),
      fc.integer({ min: 200_000, max: 600_000 }).map((length) => randomBytes(length / 2).toString('hex')),
    )
    return fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(text, fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean()), {
          minLength: 1,
          maxLength: 5,
        }),
        async (changes) => {
          // Two, of which only one remembers the hash of what it has written.
          const url = `sqlite:${join(temporaryFolder(), 'store.db')}?synchronous=off`
          const stores = [await opened(url), await opened(url)] as const
          let whole = Buffer.alloc(0)
          let after = -1
          for (const [index, [added, share, isEnd]] of changes.entries()) {
            const from = isEnd ? whole.length : Math.floor(share * whole.length)
            const change = { format: 'pi', text: added, after, ...(!isEnd && { from }) }
            const written = await stores[index % 3 === 0 ? 0 : 1].writeOriginal('s', change)
            whole = Buffer.concat([whole.subarray(0, from), Buffer.from(added)])
            after = written.revision
            expect(written.bytes).toBe(whole.length)
          }
          const { text: stored, revision } = await originalOf(stores[0])
          expect(stored === whole.toString()).toBe(true)
          expect(revision).toBe(after)
          expect(await listed(stores[0])).toEqual([
            {
              conversation: 's',
              format: 'pi',
              bytes: whole.length,
              revision,
              time: expect.any(String) as unknown,
            },
          ])
        },
      ),
      { numRuns: runs(30) },
    )
  })

  test('is not changed by who has not read its last change, or names an offset after its end', async () => {
    const store = await opened('memory:')
    const { revision } = await store.writeOriginal('s', { format: 'pi', text: 'one\n', after: -1 })
    const write = (change: object) =>
      tagOf(store.writeOriginal('s', { format: 'pi', text: 'two\n', after: revision, ...change }))
    expect(await write({ after: -1 })).toBe('Conflict')
    expect(await write({ after: revision + 1 })).toBe('Conflict')
    expect(await write({ from: 5 })).toBe('InvalidInput')
    expect(await write({ from: -1 })).toBe('InvalidInput')
    expect(await write({ text: '' })).toBe('InvalidInput')
    expect(await write({ format: '' })).toBe('InvalidInput')
    expect(await tagOf(store.writeOriginal('a/b', { format: 'pi', text: 'x', after: -1 }))).toBe(
      'InvalidInput',
    )
    expect(await originalOf(store)).toMatchObject({ text: 'one\n', revision })
  })

  test('has nothing of a write that was interrupted; the next one takes its place', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}?synchronous=off`
    const large = randomBytes(1_500_000).toString('base64')
    const adapter = right(await openSqlite(url)())
    let appends = 0
    const failing = await openStore({
      ...adapter,
      append: (request) => (++appends === 3 ? TE.left(cutOff) : adapter.append(request)),
    })
    const { revision } = await failing.writeOriginal('s', { format: 'pi', text: 'one\n', after: -1 })
    expect(await tagOf(failing.writeOriginal('s', { format: 'pi', text: large, after: revision }))).toBe(
      'StoreFull',
    )
    await failing.close()
    const store = await opened(url)
    expect(await originalOf(store)).toMatchObject({ text: 'one\n', revision })
    const written = await store.writeOriginal('s', { format: 'pi', text: 'two\n', after: revision })
    expect(await originalOf(store)).toMatchObject({ text: 'one\ntwo\n', revision: written.revision })
    await store.writeOriginal('s', { format: 'pi', text: 'three\n', after: written.revision })
    expect((await originalOf(store)).text).toBe('one\ntwo\nthree\n')
  })

  test('is verified, imported and erased like the file of an import', async () => {
    const store = await opened('memory:')
    const head = { type: 'session', version: 3, id: 's', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' }
    const said = { type: 'message', id: 'e0', parentId: null, message: { role: 'user', content: 'Hello.' } }
    const text = `${JSON.stringify(head)}\n${JSON.stringify(said)}\n`
    const { revision } = await store.writeOriginal('s', { format: 'pi', text, after: -1 })
    const { conversations } = await store.importSession({ file: 's.jsonl', text })
    expect(conversations).toEqual([{ id: 's', added: 1, events: 1 }])
    // The import found the file there.
    expect(await originalOf(store)).toMatchObject({ text, revision })
    expect((await store.conversation('s').verify()).discrepancy).toBeUndefined()
    await store.conversation('s').erase({ by: 'ann' })
    expect(await listed(store)).toEqual([])
    expect(await tagOf(store.writeOriginal('s', { format: 'pi', text, after: revision }))).toBe(
      'OriginalNotKept',
    )
  })

  test('that is erased while it is read ends with the error of a file that was erased before', async () => {
    const store = await opened('memory:')
    await store.writeOriginal('s', { format: 'pi', text: randomBytes(300_000).toString('hex'), after: -1 })
    await store.conversation('s').append({ role: 'user', content: 'Hello.' })
    const { pieces } = await store.conversation('s').original()
    const reading = pieces[Symbol.asyncIterator]()
    expect(await reading.next()).toMatchObject({ done: false })
    await store.conversation('s').erase({ by: 'ann' })
    expect(await tagOf(reading.next())).toBe('OriginalNotKept')
  })
})
