import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { EventStore } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { left, right } from '../support/either.ts'
import { temporaryFolder } from '../support/stores.ts'

// As good as for ever: who waits for it fails the test.
const forever = 1_000_000_000

const event = { id: 'x', type: 'T', data: '{}', metadata: '{}' }
/** A store, a stream `s` in it, and how to lock it as another process would. */
const lockable = async (
  timeout = forever,
): Promise<{ readonly store: EventStore; readonly lock: () => DatabaseSync }> => {
  const path = join(temporaryFolder(), 'store.db')
  const store = right(await openSqlite(`sqlite:${path}?timeout=${timeout}`)())
  const lock = (): DatabaseSync => {
    const db = new DatabaseSync(path)
    db.exec('BEGIN IMMEDIATE')
    return db
  }
  return { store, lock }
}

describe('closing a store that another process has locked', () => {
  afterEach(() => void vi.useRealTimers())

  test('waits for nothing if nothing has to be written', async () => {
    const { store, lock } = await lockable()
    left(await store.append({ stream: 's', events: [event], expected: 3 })())
    const other = lock()
    expect(await store.close()()).toMatchObject({ _tag: 'Right' })
    other.close()
  })

  test('does not wait again once an append has given up', async () => {
    // Short, as others read this clock too: it must not be ahead of the real one when it is put back.
    const timeout = 500
    const { store, lock } = await lockable(timeout)
    right(await store.append({ stream: 's', events: [event], expected: -1 })())
    const other = lock()
    vi.useFakeTimers({ toFake: ['performance'] })
    const refused = store.append({ stream: 's', events: [{ ...event, id: 'y' }], expected: 0 })()
    await new Promise((resolve) => setTimeout(resolve, 50))
    vi.advanceTimersByTime(timeout + 1)
    expect(left(await refused)).toMatchObject({ _tag: 'StoreBusy' })
    right(await store.close()())
    other.close()
  })

  test('waits for what it still has to write if it may be let in', async () => {
    const { store, lock } = await lockable()
    right(await store.append({ stream: 's', events: [event], expected: -1 })())
    const other = lock()
    const appended = store.append({ stream: 's', events: [{ ...event, id: 'y' }], expected: 0 })()
    const closed = store.close()()
    other.exec('COMMIT')
    other.close()
    expect(await Promise.all([appended, closed])).toMatchObject([{ _tag: 'Right' }, { _tag: 'Right' }])
  })
})
