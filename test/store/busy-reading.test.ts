import * as TE from 'fp-ts/lib/TaskEither.js'
import { expect, test } from 'vitest'
import { layeredStore } from '../../src/store/whole/layered-store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { allPages } from '../../src/store/pages.ts'
import type { EventStore } from '../../src/store/port.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { stores } from '../support/stores.ts'
import { hand, lasting, say, stepsOf, until } from '../support/workers/hands.ts'

const away = { _tag: 'StoreUnavailable', message: 'read for ever', store: 'busy' } as const

/** A store to which somebody else writes whenever it is read, and which is not read for ever. */
const busy = (store: EventStore): EventStore => {
  let pages = 0
  const readAll: EventStore['readAll'] = (range) => async () => {
    if (++pages > 20) return TE.left(away)()
    await say(store, `other-${pages}`)
    return store.readAll(range)()
  }
  return { ...store, readAll }
}

const all: typeof stores = {
  ...stores,
  'memory, as programs use it': async () => layeredStore(memoryStore(), 1_000),
}

test.each(Object.entries(all))(
  'what there is in %s is read, although others write all the time',
  async (_, open) => {
    const store = await open()
    atEnd(store.close)
    await say(store, 'c', true)
    expect(await stepsOf(busy(store))).toEqual(['c open'])
    let events = 0
    for await (const page of allPages(busy(store))) events += right(page).length
    expect(events).toBeGreaterThan(1)
    hand(busy(store), 'w', { give: lasting })
    await until(async () => (await stepsOf(store)).includes('c claimed'))
  },
)
