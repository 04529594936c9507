import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readingEdition } from '../../../src/transfer/formats/edition.ts'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import { isStored } from '../../../src/transfer/formats/plan.ts'
import { type ImportResult, type SessionStream, type Store } from '../../../src/index.ts'
import { jsonl } from '../../support/import-log.ts'
import { runs } from '../../support/runs.ts'
import { opened, temporaryFolder } from '../../support/stores.ts'

const line = (n: number, said = `${n} ${'x'.repeat(40_000)}`): string =>
  jsonl({
    uuid: `u${n}`,
    parentUuid: n === 0 ? null : `u${n - 1}`,
    sessionId: 's',
    type: n % 2 === 0 ? 'user' : 'assistant',
    timestamp: `2026-01-01T00:00:0${n}.000Z`,
    message: { role: n % 2 === 0 ? 'user' : 'assistant', content: said },
  })
const title = jsonl({ type: 'ai-title', aiTitle: 'A title', sessionId: 's' })
const file = (length: number): string =>
  Array.from({ length }, (_, n) => line(n)).join('') + jsonl({ type: 'progress', sessionId: 's' }) + title
const whole = file(4)

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

/** A file that counts how often it is opened. */
const counted = (text: string, more: Partial<SessionStream> = {}) => {
  let times = 0
  const bytes = (): AsyncIterable<Uint8Array> => {
    times++
    return once(text)
  }
  return { session: { file: 'f', bytes, ...more }, times: () => times }
}

/** Imports a file; `isRead` says whether it was read beyond its digest. */
const importing = async (store: Store, text: string, more?: Partial<SessionStream>) => {
  const { session, times } = counted(text, more)
  const imported = await store.importSession(session)
  return { imported, isRead: times() > 1 }
}

/** As `importing`, with bytes that can be given only once: they are always read. */
const reading = (store: Store, text: string): Promise<ImportResult> =>
  store.importSession({ file: 'f', bytes: once(text) })

describe('a file that is imported again', () => {
  it('is not read again while nothing is new, and the answer is the same', async () => {
    const [one, other] = [await opened('memory:'), await opened('memory:')]
    const first = await importing(one, whole)
    expect(first).toMatchObject({ isRead: true, imported: { conversations: [{ added: 4, notes: 1 }] } })
    expect(await reading(other, whole)).toEqual(first.imported)
    const again = await importing(one, whole)
    expect(again.isRead).toBe(false)
    expect(again.imported).toEqual(await reading(other, whole))
    expect(again.imported.report.leftOut).toMatchObject([{ kind: 'progress' }])
  })

  it('is not read again either where nothing was new when it was first noted', async () => {
    const store = await opened('memory:')
    await reading(store, whole)
    expect(await importing(store, whole)).toMatchObject({
      isRead: true,
      imported: { conversations: [{ added: 0 }] },
    })
    expect(await importing(store, whole)).toMatchObject({ isRead: false })
  })

  it('is read if it has grown, or differs in one byte', async () => {
    const store = await opened('memory:')
    await importing(store, file(3))
    expect(await importing(store, whole)).toMatchObject({
      isRead: true,
      imported: { conversations: [{ added: 1, events: 4 }] },
    })
    const other = whole.replace('"A title"', '"B title"')
    expect(await importing(store, other)).toMatchObject({ isRead: true })
  })

  it('is read for another conversation, in another format, and with other rules', async () => {
    const store = await opened('memory:')
    await importing(store, whole)
    for (const more of [{ id: 'other' }, { format: 'claude-code' }, { skipBadLines: true }])
      expect((await importing(store, whole, more)).isRead).toBe(true)
    expect((await importing(store, whole, { id: 'other' })).isRead).toBe(false)
  })

  it('is read for another store', async () => {
    await importing(await opened('memory:'), whole)
    expect(await importing(await opened('memory:'), whole)).toMatchObject({ isRead: true })
  })

  it.each([
    ['a conversation is erased', `stream IN (SELECT id FROM streams WHERE name = 'conversation-s')`, 4],
    [
      'its end is lost',
      `stream IN (SELECT id FROM streams WHERE name = 'conversation-s') AND revision > 1`,
      2,
    ],
    ['its notes are erased', `stream IN (SELECT id FROM streams WHERE name = 'notes-s')`, 0],
  ])('is read if %s, and adds what is missing', async (_, lost, added) => {
    const path = join(temporaryFolder(), 'store.db')
    const before = await opened(`sqlite:${path}`)
    await importing(before, whole)
    await before.close()
    const db = new DatabaseSync(path)
    db.exec(`DELETE FROM events WHERE ${lost}`)
    db.exec(
      `UPDATE streams SET hash = NULL, last = (SELECT max(revision) FROM events WHERE stream = streams.id)`,
    )
    db.exec(`DELETE FROM streams WHERE last IS NULL`)
    db.close()
    const store = await opened(`sqlite:${path}`)
    const again = await importing(store, whole)
    expect(again).toMatchObject({ isRead: true, imported: { conversations: [{ added, events: 4 }] } })
    expect(again.imported.conversations[0]?.notes).toBe(added === 0 ? 1 : undefined)
    expect((await importing(store, whole)).isRead).toBe(false)
  })

  it('is read if it cannot be opened a second time, and fails as it does', async () => {
    const store = await opened('memory:')
    const bytes = (): AsyncIterable<Uint8Array> => {
      throw new Error('it is gone')
    }
    await expect(store.importSession({ file: 'f', bytes })).rejects.toMatchObject({ _tag: 'FileUnreadable' })
  })

  it('gives what reading it gives, whatever is done to the conversation in between', async () => {
    const files = [file(2), file(3), whole, line(0) + line(1, 'y'.repeat(70_000)) + line(2) + line(3)]
    const action = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...files).map((text) => ({ kind: 'import' as const, text })) },
      { weight: 1, arbitrary: fc.nat(3).map((to) => ({ kind: 'rewind' as const, to })) },
      { weight: 1, arbitrary: fc.constant({ kind: 'say' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'truncate' as const }) },
    )
    let [unread, done] = [0, 0]
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 8 }), async (actions) => {
        const [one, other] = [await opened('memory:'), await opened('memory:')]
        for (const next of actions) {
          if (next.kind === 'import') {
            const given = await importing(one, next.text).catch((error: { _tag: string }) => error)
            const read = await reading(other, next.text).catch((error: { _tag: string }) => error)
            if ('_tag' in read) expect(given).toMatchObject({ _tag: read._tag })
            else expect(given).toMatchObject({ imported: read })
            if ('isRead' in given && !given.isRead) unread++
          } else
            for (const store of [one, other]) {
              const chat = store.conversation('s')
              const doing =
                next.kind === 'say'
                  ? chat.append({ role: 'user', content: 'More.' })
                  : next.kind === 'rewind'
                    ? chat.rewind({ to: next.to })
                    : chat.truncate({ covers: { first: 0, last: 0 } })
              done += await doing.then(
                () => 1,
                () => 0,
              )
            }
        }
      }),
      { numRuns: runs(60) },
    )
    expect(Math.min(unread, done)).toBeGreaterThan(0)
  })
})

describe('another import of a session', () => {
  it('of 130,000 messages succeeds', async () => {
    const lineOf = (index: number): string =>
      `{"type":"message","id":"${index}","parentId":${index > 0 ? `"${index - 1}"` : null},"message":{"role":"user","content":"a"}}\n`
    const text = Array.from({ length: 130_000 }, (_, index) => lineOf(index)).join('')
    const store = await opened('memory:')
    await store.importSession({ file: 'a', format: 'pi', text })
    const [again] = (await store.importSession({ file: 'a', format: 'pi', text })).conversations
    expect(again).toMatchObject({ added: 0, events: 130_000 })
  })
})

describe('the edition of what is read', () => {
  it('is another one where files become anything else', () => {
    const root = new URL('../../../', import.meta.url).pathname
    const hash = createHash('sha256')
    for (const name of globSync('{test/samples,examples/sessions}/**/*.json{,l}', { cwd: root }).toSorted()) {
      const parsed = parseSession({ file: name, text: readFileSync(join(root, name), 'utf8') })
      if (E.isLeft(parsed)) continue
      const { right: plan } = parsed
      const lists = isStored(plan)
        ? plan.conversations.map(({ events }) => [...events])
        : plan.conversations.map(({ id, actions, notes = [], withdrawn = [] }) => [
            id,
            ...actions,
            ...notes,
            withdrawn,
          ])
      hash.update(JSON.stringify([name, lists, plan.report]))
    }
    // Where this fails because a reader has changed, raise the edition, so that users' files are read again; then note both.
    expect([readingEdition, hash.digest('hex').slice(0, 16)]).toEqual([3, 'e9ba7f634708b47f'])
  })
})
