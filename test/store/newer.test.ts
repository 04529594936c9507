import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { verdictOf } from '../../src/ui/audit/verdict.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

// What a later version may write. This version says that it must be upgraded, and never that the log is damaged.

const later: Readonly<Record<string, string>> = {
  'a later schema': `SET metadata = replace(metadata, '"schema":1', '"schema":2')`,
  'a later schema, and metadata in another form': `SET metadata = '{"schema":7,"at":1}'`,
  'an unknown type': `SET type = 'Shredded', data = '{}'`,
  'sealed content': `SET data = '{"sealed":{"ct":"AAAA"}}'`,
  'sealed metadata': `SET metadata = json_insert(metadata, '$.sealed', 'AAAA')`,
}
const upgrade: unknown = expect.stringMatching('upgrade palimpsest|open the store with its keys')

describe.each(Object.entries(later))('an event with %s', (name, change) => {
  test('is named as newer by readers, by verify and by the page', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = await opened(`sqlite:${path}`)
    for (const content of ['a', 'b', 'c']) await store.conversation('c').append({ role: 'user', content })
    await store.close()
    const db = new DatabaseSync(path)
    db.exec(`UPDATE events ${change} WHERE revision = 1`)
    db.close()

    const chat = (await opened(`sqlite:${path}`)).conversation('c')
    await expect(chat.effective()).rejects.toMatchObject({
      _tag: 'DecodeFailed',
      isNewer: true,
      revision: 1,
      message: upgrade,
    })
    const { discrepancy, events } = await chat.verify()
    expect({ discrepancy, events }).toMatchObject({
      events: 1,
      discrepancy: { position: 1, kind: name === 'sealed content' ? 'sealed' : 'newer', message: upgrade },
    })
    const checked = { conversation: 'c', last: 2, events, ...(discrepancy && { discrepancy }) }
    expect(verdictOf(undefined, checked, false)).toMatchObject({ tone: 'open', words: upgrade })
  })
})

test('a note of a later schema is named as newer, too', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await opened(`sqlite:${path}`)
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'a' })
  await chat.note({ kind: 'my/mark' })
  await store.close()
  const db = new DatabaseSync(path)
  db.exec(`UPDATE events SET metadata = replace(metadata, '"schema":1', '"schema":2')
    WHERE stream = (SELECT id FROM streams WHERE name = 'notes-c')`)
  db.close()

  const report = await (await opened(`sqlite:${path}`)).conversation('c').verify()
  expect(report).toMatchObject({ discrepancy: { kind: 'newer', message: upgrade } })
})
