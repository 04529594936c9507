import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { openEventStoreDb } from '../../../src/store/eventstoredb/store.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { patient, temporaryServer } from '../../support/stores.ts'

const hour = 3_600_000

test.each(['append', 'read'] as const)(
  'a failed %s is tried again as long as agreed, however the wall clock jumps',
  async (on) => {
    const server = await temporaryServer()
    const store = right(await openEventStoreDb(server.url + patient)())
    atEnd(store.close())
    right(await store.streams('', '', 1)())
    const now = Date.now.bind(Date)
    let ahead = 0
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + ahead)
    atEnd(() => clock.mockRestore())
    let failures = 0
    server.misbehave((call) => {
      if (call.method.includes('Append') !== (on === 'append') || ++failures > 2) return undefined
      ahead = hour
      return { kind: 'unavailable', on }
    })
    const events = [{ id: randomUUID(), type: 'MessageAppended', data: '{}', metadata: '{}' }]
    if (on === 'append') right(await store.append({ stream: 's', events, expected: -1 })())
    else right(await store.read({ stream: 's', from: 0, direction: 'forwards', limit: 1 })())
    expect(failures).toBeGreaterThan(2)
  },
)
