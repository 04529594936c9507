import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { openStore } from 'palimpsest'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { promiseStore, type Store } from '../../../src/api/promises.ts'
import { layeredStore } from '../../../src/store/whole/layered-store.ts'
import { outcomeUnknown } from '../../../src/store/errors.ts'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { right } from '../../support/either.ts'
import { ended, start } from '../../support/node.ts'
import { patient, stores, temporaryFolder, temporaryServer } from '../../support/stores.ts'

const hour = 60 * 60 * 1000
const large = (name: string): string => name.repeat(70_000)
const said = (content: string) => ({ role: 'user', content }) as const
const on = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, { kind: 'test' })))
/** A store whose appends fail once the content is there. */
const failing = (events: EventStore): Store =>
  on({
    ...events,
    append:
      ({ stream, events: lost }) =>
      async () =>
        E.left(
          outcomeUnknown(
            stream,
            lost.map(({ id }) => id),
            undefined,
          ),
        ),
  })
/** Sets the clock, and stops it. */
const at = (hours: number): Date => {
  const now = new Date(Date.UTC(2026, 0, 1) + hours * hour)
  vi.useFakeTimers({ toFake: ['Date'], now })
  return now
}
afterEach(() => vi.useRealTimers())

/** A server of its own also where the tests share one: gc looks at all that is there. */
const everyStore = {
  ...stores,
  eventstoredb: async () => right(await openEventStoreDb((await temporaryServer()).url + patient)()),
}

describe.each(Object.entries(everyStore))('gc on the %s store', (_, open) => {
  test('removes what an append that failed has left, after a day; what events refer to stays', async () => {
    const events = await open()
    const store = on(events)
    at(0)
    await store.conversation('c').append(said(large('a')))
    await expect(
      failing(events)
        .conversation('d')
        .append(said(large('b'))),
    ).rejects.toMatchObject({
      _tag: 'OutcomeUnknown',
    })
    at(24)
    expect(await store.gc()).toEqual({ blobs: 2, bytes: 140_000, unreferenced: [], removed: 0 })
    at(25)
    const left = {
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      bytes: 70_000,
      time: new Date(Date.UTC(2026)),
    }
    expect(await store.gc({ dryRun: true })).toEqual({
      blobs: 2,
      bytes: 140_000,
      unreferenced: [left],
      removed: 0,
    })
    expect(await store.gc()).toMatchObject({ blobs: 2, unreferenced: [left], removed: 1 })
    expect(await store.gc()).toEqual({ blobs: 1, bytes: 70_000, unreferenced: [], removed: 0 })
    expect(await store.conversation('c').effective()).toMatchObject([{ content: [{ text: large('a') }] }])
    await store.close()
  })

  test('keeps what any stream refers to, also one that holds no conversation', async () => {
    const events = await open()
    const port = layeredStore(events, 65_536)
    const data = JSON.stringify({ note: large('n') })
    const note = { id: randomUUID(), type: 'NoteTaken', data, metadata: '{}' }
    at(0)
    right(await port.append({ stream: 'notes-1', events: [note], expected: -1 })())
    at(48)
    expect(await on(events).gc()).toMatchObject({ blobs: 1, unreferenced: [], removed: 0 })
    const read = await port.read({ stream: 'notes-1', from: 0, direction: 'forwards', limit: 1 })()
    expect(right(read)).toMatchObject([note])
    await events.close()()
  })

  test('keeps what a writer has just found there: putting it again makes it young', async () => {
    const events = await open()
    at(0)
    await failing(events)
      .conversation('c')
      .append(said(large('a')))
      .catch(() => undefined)
    at(48)
    const slow = on({
      ...events,
      append: (request) => async () => {
        // Between the content and its event.
        expect(await on(events).gc()).toMatchObject({ blobs: 1, unreferenced: [], removed: 0 })
        return events.append(request)()
      },
    })
    await slow.conversation('c').append(said(large('a')))
    at(96)
    expect(await on(events).gc()).toMatchObject({ blobs: 1, unreferenced: [] })
    expect(await on(events).conversation('c').effective()).toHaveLength(1)
    await events.close()()
  })

  test('keeps what is put while it looks for it', async () => {
    const events = await open()
    at(0)
    await failing(events)
      .conversation('c')
      .append(said(large('a')))
      .catch(() => undefined)
    at(48)
    const interrupted: EventStore = {
      ...events,
      blobs: {
        ...events.blobs,
        remove: (sha256, before) => async () => {
          await on(events)
            .conversation('c')
            .append(said(large('a')))
          return events.blobs.remove(sha256, before)()
        },
      },
    }
    await on(interrupted).gc()
    expect(await on(events).conversation('c').effective()).toMatchObject([
      { content: [{ text: large('a') }] },
    ])
    await events.close()()
  })

  test('finds what is referred to in whatever of many events', async () => {
    const events = await open()
    const store = on(events)
    at(0)
    const texts = Array.from({ length: 700 }, (__, n) => (n % 300 === 299 ? large(`${n}`) : `${n}`))
    await store.conversation('c').append(texts.map(said))
    at(48)
    expect(await store.gc()).toMatchObject({ blobs: 2, unreferenced: [] })
    await store.close()
  })

  test.each([
    ['in the future', { olderThan: new Date(Date.now() + hour * 24 * 365 * 50) }],
    ['that is no time', { olderThan: new Date(Number.NaN) }],
    ['that is no Date', { olderThan: 5 as never }],
  ])('refuses a time %s', async (__, options) => {
    const store = on(await open())
    await expect(store.gc(options)).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'olderThan' })
    await expect(store.gc(null as never)).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'options' })
    await store.close()
  })
})

describe('a process that is killed between content and event', () => {
  test('leaves content that gc removes, and a conversation that is as it was', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const first = await openStore(url)
    await first.conversation('c').append(said(large('a')))
    await first.close()
    const child = start('store/children/killed-between.ts', url, large('b'))
    await ended(child)
    expect(child.signalCode).toBe('SIGKILL')
    const store = await openStore(url)
    expect(await store.conversation('c').verify()).toEqual({ conversation: 'c', events: 1 })
    expect(await store.gc()).toMatchObject({ blobs: 2, unreferenced: [], removed: 0 })
    await new Promise((resolve) => setTimeout(resolve, 2))
    expect(await store.gc({ olderThan: new Date() })).toMatchObject({ blobs: 2, bytes: 140_000, removed: 1 })
    expect(await store.conversation('c').effective()).toMatchObject([{ content: [{ text: large('a') }] }])
    await store.conversation('c').append(said(large('b')))
    expect(await store.conversation('c').verify()).toEqual({ conversation: 'c', events: 2 })
    await store.close()
  })
})
