import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { inboxStreamOf, turnsStreamOf } from '../../src/events/ids.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'

const user = (content: string) => ({ role: 'user' as const, content })

/** A store that returns the events of one stream with their texts changed. */
const changing = (store: EventStore, stream: string): EventStore => ({
  ...store,
  read: (range) => async () => {
    const page = await store.read(range)()
    if (page._tag === 'Left' || range.stream !== stream) return page
    const right = page.right.map((event) => ({
      ...event,
      data: event.data.replace('kim', 'tim').replace('Wait', 'Go!!'),
    }))
    return { ...page, right }
  },
})

test('verify finds what was changed in what the turns did, and in what was said meanwhile', async () => {
  const adapter = memoryStore()
  const store = await openStore(adapter)
  const chat = store.conversation('c')
  await chat.append(user('Is it there?'))
  for (const word of ['Wait.', 'Please.']) await chat.say(user(word))
  for (const by of ['kim', 'ann']) await chat.cancel({ by })
  expect(await chat.verify()).toEqual({ conversation: 'c', events: 1 })
  for (const [kind, stream, position] of [
    ['turn', turnsStreamOf('c'), 2],
    ['inbox', inboxStreamOf('c'), 1],
  ] as const) {
    const other = await openStore(changing(adapter, stream))
    expect((await other.conversation('c').verify()).discrepancy).toMatchObject({ kind, position })
  }
  await store.close()
})
