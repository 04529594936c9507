import fc from 'fast-check'
import type { Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import { promiseStore } from '../../src/api/promises.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { storeOn, taskStore } from '../../src/api/open.ts'
import { histories } from '../support/histories.ts'
import { runs } from '../support/runs.ts'
import { user } from '../support/log.ts'
import { write } from '../support/write.ts'

const talk = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, { kind: 'test' })))

/** A store, and how many events were read of it. */
const counting = (): { readonly store: EventStore; readonly read: () => number } => {
  const whole = memoryStore()
  let events = 0
  const read: EventStore['read'] = (range) => async () => {
    const page = await whole.read(range)()
    if (page._tag === 'Right') events += page.right.length
    return page
  }
  return { store: { ...whole, read }, read: () => events }
}

/** A conversation that goes back again and again, far and near, and hides something wherever it goes on. */
const rewinding = (rounds: number): readonly Event[] => {
  const log: Event[] = [user('first'), user('second')]
  for (let n = 0; n < rounds; n++) {
    log.push(user(`${n}`), user(`${n}`))
    const covers = { first: log.length - 2, last: log.length - 1 }
    const tokens = { before: 2, after: 1 }
    if (n % 3 === 0) log.push({ type: 'Truncated', data: { covers, messagesHidden: 2, tokens } })
    log.push({ type: 'Rewound', data: { to: n % 5 === 0 ? 1 : log.length - 2 } })
  }
  return log
}

describe('verify reads each event about once', () => {
  test.each([200, 1_000])('with %i rewinds', async (rounds) => {
    const { store, read } = counting()
    const log = rewinding(rounds)
    await write(store, 'c', log)
    expect(await talk(store).conversation('c').verify()).toEqual({ conversation: 'c', events: log.length })
    expect(read()).toBeLessThan(log.length * 1.05 + 10)
  })

  test.each([20, 80])('with %i forks of one conversation, each of which hides some of it', async (forks) => {
    const { store, read } = counting()
    const messages = 300
    await write(
      store,
      'c',
      Array.from({ length: messages }, (_, n) => user(`${n}`)),
    )
    const chats = talk(store)
    for (let n = 0; n < forks; n++) {
      const fork = await chats.conversation('c').fork(`f${n}`, { at: messages - 1 - n })
      await fork.append({ role: 'user', content: 'on' })
      await fork.truncate({ keepLast: 2 })
      await fork.rewind({ to: messages - 2 - n })
      await fork.truncate({ keepLast: 3 })
    }
    const before = read()
    for (let n = 0; n < forks; n++)
      expect(await chats.conversation(`f${n}`).verify({ inherited: false })).toEqual({
        conversation: `f${n}`,
        events: 5,
      })
    // Its own five, and a few that tell where it begins and ends.
    expect(read() - before).toBeLessThan(messages + forks * 12 + 10)
  })
})

test('verify finds nothing in any history, nor in a fork of it that goes back, hides and restores', async () => {
  const step = fc.tuple(fc.constantFrom('rewind', 'hide', 'restore', 'undo', 'say'), fc.nat())
  await fc.assert(
    fc.asyncProperty(
      histories(40).filter(({ length }) => length > 0),
      fc.nat(),
      fc.array(step, { maxLength: 25 }),
      async (log, picked, steps) => {
        const store = memoryStore()
        await write(store, 'c', log)
        const chats = talk(store)
        expect(await chats.conversation('c').verify()).toEqual({ conversation: 'c', events: log.length })
        const fork = await chats.conversation('c').fork('f', { at: picked % log.length })
        for (const [kind, number] of steps) {
          const last = await fork.position()
          // Not all that is asked for can be done.
          const done = (): Promise<unknown> => {
            if (kind === 'rewind') return fork.rewind({ to: (number % (last + 1)) - 1 })
            if (kind === 'hide') return fork.truncate({ keepFirst: 0, keepLast: number % 3 })
            if (kind === 'restore') return fork.restore({ marker: last - (number % 4) })
            if (kind === 'undo') return fork.undo()
            return fork.append({ role: 'user', content: 'on' })
          }
          await done().catch(() => undefined)
        }
        expect(await fork.verify()).not.toHaveProperty('discrepancy')
      },
    ),
    { numRuns: runs(150) },
  )
})
