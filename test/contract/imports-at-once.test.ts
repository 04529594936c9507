import { describe, expect, test } from 'vitest'
import { promiseStore } from '../../src/api/promises.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { storeOn, taskStore } from '../../src/api/open.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { somewhere, stores } from '../support/stores.ts'

/** A session whose entries have ids and times: what two imports of it write is the same to the byte. */
const sessionOf = (messages: number): string =>
  Array.from({ length: messages }, (_, n) =>
    JSON.stringify({
      type: n % 2 === 0 ? 'user' : 'assistant',
      uuid: `entry-${n}`,
      parentUuid: n === 0 ? null : `entry-${n - 1}`,
      sessionId: 's',
      timestamp: new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString(),
      message: {
        role: n % 2 === 0 ? 'user' : 'assistant',
        id: `message-${n}`,
        content: [{ type: 'text', text: `${n}` }],
      },
    }),
  ).join('\n')

/** Two stores on what another process could have open as well, or the same one twice. */
const pairs: Readonly<Record<string, () => Promise<readonly EventStore[]>>> = {
  ...Object.fromEntries(
    Object.entries(stores).map(([name, open]) => [name, () => open().then((store) => [store, store])]),
  ),
  'a server, from two stores': async () => {
    const { open } = await somewhere()
    return [await open(), await open()]
  },
}

describe.each(Object.entries(pairs))('two imports of one file at once into %s', (_, open) => {
  test.each([
    ['of one append', 6],
    ['of several appends', 700],
  ])('%s: each reports what it wrote itself, and together that is all', async (__, messages) => {
    const writers = (await open()).map((store) => promiseStore(taskStore(storeOn(store, { kind: 'test' }))))
    atEnd(...writers.map(({ close }) => close))
    const file = { text: sessionOf(messages), file: 's.jsonl', id: 'c' }
    const imported = await Promise.all(writers.map((writer) => writer.importSession(file)))
    const of = imported.map(({ conversations: [only] }) => only ?? expect.fail('nothing'))
    expect(of.map(({ id, events }) => [id, events])).toEqual([
      ['c', messages],
      ['c', messages],
    ])
    expect(of.reduce((sum, { added }) => sum + added, 0)).toBe(messages)
    const [again] = (await writers[0]?.importSession(file))?.conversations ?? []
    expect(again).toEqual({ id: 'c', events: messages, added: 0 })
    expect(await writers[1]?.conversation('c').verify()).toEqual({ conversation: 'c', events: messages })
  })
})

test('an import reports all that it wrote, also when another one came between its appends', async () => {
  const store = memoryStore()
  let appends = 0
  const crossed: EventStore = {
    ...store,
    append: (request) => async () => {
      if (++appends === 2) right(await store.append(request)())
      return store.append(request)()
    },
  }
  const file = { text: sessionOf(700), file: 's.jsonl', id: 'c' }
  const { conversations } = await promiseStore(taskStore(storeOn(crossed, { kind: 'test' }))).importSession(
    file,
  )
  // The second of 250, 250 and 200 was the other's.
  expect(conversations).toEqual([{ id: 'c', events: 700, added: 450 }])
})
