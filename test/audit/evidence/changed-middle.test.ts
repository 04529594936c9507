import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { opened, temporaryFolder } from '../../support/stores.ts'

test('a bundle of events that do not chain is refused and leaves nothing, and forced it is written', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await opened(`sqlite:${path}`)
  for (const content of ['One.', 'Two.', 'Three.'])
    await store.conversation('c').append({ role: 'user', content })
  await store.close()
  const db = new DatabaseSync(path)
  db.exec(`UPDATE events SET data = replace(data, 'Two.', 'Ten.')`)
  db.close()

  const chat = (await opened(`sqlite:${path}`)).conversation('c')
  const folder = join(temporaryFolder(), 'evidence')
  await expect(chat.evidence({ folder })).rejects.toMatchObject({
    _tag: 'SealContradicted',
    revision: 2,
    message: expect.stringContaining('event 2 does not contain the hash of the event before it') as string,
  })
  expect(existsSync(folder)).toBe(false)
  expect(await chat.evidence({ folder, force: true })).toMatchObject({ events: 3 })
})

test('a bundle of events with unreadable metadata is refused in the same way', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await opened(`sqlite:${path}`)
  const chat = store.conversation('c')
  for (const content of ['One.', 'Two.']) await chat.append({ role: 'user', content })
  const db = new DatabaseSync(path)
  db.exec(`UPDATE events SET metadata = 'nothing' WHERE revision = 1`)
  db.close()
  await expect(chat.evidence({ folder: join(temporaryFolder(), 'evidence') })).rejects.toMatchObject({
    _tag: 'SealContradicted',
    revision: 1,
  })
})
