import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createHoldFinder } from '../../src/conversation/beside/hold-finder.ts'
import { openStore } from '../../src/index.ts'
import { run } from '../../src/result/fallible.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { atEnd } from '../support/at-end.ts'
import { counting } from '../support/counting.ts'
import { right } from '../support/either.ts'
import { temporaryFolder } from '../support/stores.ts'

test('holds among many conversations are found with few reads, also after many notes', async () => {
  const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
  const store = await openStore(url)
  const ids = Array.from({ length: 120 }, (_, n) => `c${n}`)
  for (const id of ids) {
    const chat = store.conversation(id)
    await chat.append({ role: 'user', content: 'Hello.' })
    await chat.note({ kind: 'title', data: id })
  }
  const busy = store.conversation('c7')
  // Followed by so many notes that they are read alone.
  await busy.hold({ by: 'legal' })
  await store.conversation('c8').hold({ by: 'tax' })
  for (let n = 0; n < 30; n++) await busy.note({ kind: 'test/step', data: n })
  await store.conversation('c9').link({ relation: 'subagent-of', conversation: 'c7' })
  await store.close()

  const events = right(await openSqlite(url)())
  atEnd(() => events.close()())
  const counted = counting(events)
  const { holding } = createHoldFinder(counted.store)
  expect(right(await run(holding('c1', 0)))).toBeUndefined()
  expect(counted.asked()).toBeLessThan(10)
  expect(right(await run(holding('c7')))).toMatchObject({ hold: { by: 'legal' } })
  expect(right(await run(holding('c8')))).toMatchObject({ hold: { by: 'tax' } })
  expect(right(await run(holding('c9')))).toMatchObject({ conversation: 'c7' })
})
