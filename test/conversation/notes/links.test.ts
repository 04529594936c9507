import { expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { noteIndex } from '../../../src/conversation/beside/note-index.ts'
import { orThrow, run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { atEnd } from '../../support/at-end.ts'

test('links to a conversation are looked for once in each other one, however few of these are remembered', async () => {
  const events = memoryStore()
  let reads = 0
  const counted: EventStore = {
    ...events,
    read: (range) => {
      reads++
      return events.read(range)
    },
  }
  const store = await openStore(events)
  atEnd(store.close)
  for (let n = 0; n < 6; n++) {
    const chat = store.conversation(`c${n}`)
    await chat.append({ role: 'user', content: 'Begin.' })
    await chat.note({ kind: 'title', data: `Task ${n}` })
  }
  await store.conversation('c1').link({ relation: 'continues', conversation: 'c0' })
  const index = noteIndex(counted, 2)
  const linking = async (): Promise<readonly string[]> =>
    (await orThrow(run(index.linksTo('c0', () => undefined)))).map(({ from }) => from)
  expect(await linking()).toEqual(['c1'])
  reads = 0
  expect(await linking()).toEqual(['c1'])
  expect(reads).toBe(0)
  await store.conversation('c4').link({ relation: 'continues', conversation: 'c0' })
  expect(await linking()).toEqual(['c1', 'c4'])
  expect(reads).toBeLessThan(4)
})
