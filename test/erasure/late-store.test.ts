import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'

test('a store that was created on its first write can erase, too', async () => {
  const store = await openStore(`sqlite:${join(temporaryFolder(), 'store.db')}`, { create: 'late' })
  atEnd(store.close)
  const chat = store.conversation('task-42')
  await chat.append({ role: 'user', content: 'My card is 4111.' })
  expect(await chat.erase({ by: 'ann' })).toMatchObject({ positions: [0] })
})
