import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../src/api/open.ts'
import { orThrow, run } from '../../../src/result/fallible.ts'
import type { AppendOptions, Model } from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { giveTurn, turnRunnerOf } from '../../../src/agent/workers/serving/give.ts'
import { text } from '../../support/log.ts'
import { hand } from '../../support/workers/hands.ts'
import { type RoundTrip, roundTrips } from '../../support/workers/round-trips.ts'

/** A worker, and what its steps ask of the store: each round trip, its beats left out, and where the model is called. */
const scene = () => {
  const inner = memoryStore()
  const { conversation } = storeOn(inner, { kind: 'test' })
  let trips: RoundTrip[] = []
  const requests: string[] = []
  let ended = (): void => {}
  const store = roundTrips(inner, (trip) => {
    const own = trip.filter((what) => !what.endsWith(' worker'))
    if (own.length > 0) trips.push(own)
  })
  const client: Model = {
    call: async ({ messages }) => {
      requests.push(JSON.stringify(messages))
      trips.push(['call the model'])
      return E.right({ content: [text('Yes.')], origin: { stopReason: 'end_turn' } })
    },
    countTokens: async () => E.right(100),
  }
  hand(store, 'w', {
    begin: (chat, hasMail) => turnRunnerOf(chat).begin(hasMail),
    give: (chat, signal) => giveTurn(chat, signal, () => ({ client, model: 'm' }), undefined),
    onStep: () => ended(),
  })
  const say = (id: string, options?: AppendOptions) =>
    conversation(id).append([{ role: 'user', content: 'Is it there?' }], options)()
  /** What the answer to a message takes. */
  const answered = async (id: string): Promise<readonly RoundTrip[]> => {
    const end = new Promise<void>((resolve) => {
      ended = resolve
    })
    trips = []
    await say(id, { answer: true })
    await end
    return trips
  }
  return { answered, say, requests, inboxOf: (id: string) => conversation(id).inbox }
}

describe('a step takes one append besides its reply, and until the model is called', () => {
  test('one round trip, if the worker had the conversation last', async () => {
    const { answered } = scene()
    await answered('c')
    expect(await answered('c')).toEqual([
      ['append turns', 'read conversation'],
      ['call the model'],
      ['append conversation'],
      ['read inbox'],
    ])
  })

  test('one round trip, if the worker has seen the conversation begin, and one that configures it', async () => {
    const { answered } = scene()
    await answered('b')
    expect(await answered('c')).toEqual([
      ['append turns', 'read conversation'],
      ['append conversation'],
      ['call the model'],
      ['append conversation'],
      ['read inbox'],
    ])
  })

  test('one more, if it knows nothing of the conversation', async () => {
    const { answered, say } = scene()
    await answered('b')
    await say('c')
    expect(await answered('c')).toEqual([
      ['read conversation', 'read conversation', 'read inbox', 'read turns'],
      ['append turns'],
      ['append conversation'],
      ['call the model'],
      ['append conversation'],
      ['read inbox'],
    ])
  })
})

test('what waits in the inbox of a conversation that the worker had last is said before the model is called', async () => {
  const { answered, requests, inboxOf } = scene()
  await answered('c')
  const queued = [{ role: 'user' as const, content: [text('And line 60?')] }]
  await orThrow(run(inboxOf('c').queue(queued, 1, {})))
  const [first] = await answered('c')
  expect(first).toEqual(['append turns', 'read conversation', 'read inbox'])
  expect(requests.map((request) => request.includes('line 60'))).toEqual([false, true])
})
