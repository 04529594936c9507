import * as E from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { storeOn } from '../../src/api/open.ts'
import type { Model } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { giveTurn } from '../../src/workers/give.ts'
import { text } from '../support/log.ts'
import { hand } from '../support/workers/hands.ts'
import { type RoundTrip, roundTrips } from '../support/workers/round-trips.ts'

/** A worker, and what its steps ask of the store: each round trip, its beats left out, and where the model is called. */
const scene = () => {
  const inner = memoryStore()
  const { conversation } = storeOn(inner, { kind: 'test' })
  let trips: RoundTrip[] = []
  let ended = (): void => {}
  const store = roundTrips(inner, (trip) => {
    const own = trip.filter((what) => !what.endsWith(' worker'))
    if (own.length > 0) trips.push(own)
  })
  const client: Model = {
    call: async () => {
      trips.push(['call the model'])
      return E.right({ content: [text('Yes.')], origin: { stopReason: 'end_turn' } })
    },
    countTokens: async () => E.right(100),
  }
  hand(store, 'w', {
    give: (chat, signal) => giveTurn(chat, signal, () => ({ client, model: 'm' }), undefined),
    onStep: () => ended(),
  })
  /** What the answer to a message takes. */
  const answered = async (id: string): Promise<readonly RoundTrip[]> => {
    const end = new Promise<void>((resolve) => {
      ended = resolve
    })
    trips = []
    await conversation(id).append([{ role: 'user', content: 'Is it there?' }], { answer: true })()
    await end
    return trips
  }
  return { answered }
}

const opens = ['read conversation', 'read conversation']

test('a step takes one append besides its reply, and three round trips until the model is called', async () => {
  const { answered } = scene()
  await answered('c')
  expect(await answered('c')).toEqual([
    [...opens, 'read turns'],
    ['append turns'],
    [...opens, 'read inbox'],
    ['call the model'],
    ['read conversation'],
    ['append conversation'],
    ['read inbox'],
  ])
})

test('the first step of a conversation also configures it', async () => {
  const { answered } = scene()
  await answered('b')
  expect(await answered('c')).toEqual([
    [...opens, 'read turns'],
    ['append turns'],
    [...opens, 'read inbox'],
    opens,
    ['append conversation'],
    [...opens, 'read inbox'],
    ['read conversation'],
    ['call the model'],
    ['append conversation'],
    ['read inbox'],
  ])
})
