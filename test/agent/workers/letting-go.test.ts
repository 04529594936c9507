import fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../src/api/open.ts'
import type { ConversationHandle } from '../../../src/conversation/conversation.ts'
import { turnCodec } from '../../../src/events/turn-events.ts'
import { orThrow, run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { emptyAccount } from '../../../src/agent/turn/spending/account.ts'
import type { TurnResult, TurnError } from '../../../src/agent/turn/turn-result.ts'
import { leaveFactOf } from '../../../src/agent/workers/serving/claim.ts'
import { outcomeOf } from '../../../src/agent/workers/serving/outcome.ts'
import { handClock, settled } from '../../support/workers/hand-clock.ts'
import { hand, say, stepsOf, until } from '../../support/workers/hands.ts'

const actor = { kind: 'test' }
const nothing: TurnError = { _tag: 'NothingToAnswer', message: 'nothing', conversation: 'c' }

/**
 * A worker that claims a step which somebody else has answered a moment before, as it has heard by the time it continues.
 *
 * @param meanwhile what happens while its turn finds that there is nothing to answer
 */
const late = async (meanwhile: (store: EventStore) => unknown = () => {}) => {
  const store = memoryStore()
  let isFirst = true
  const own: EventStore = {
    ...store,
    append: (request) => async () => {
      if (!isFirst || !request.events.some(({ type }) => type === 'TurnClaimed'))
        return store.append(request)()
      isFirst = false
      await storeOn(store, actor).conversation('c').append({ role: 'assistant', content: 'Yes.' })()
      await say(store, 'other')
      const answer = await store.append(request)()
      await settled()
      return answer
    },
  }
  await say(store, 'c', true)
  const turns: string[] = []
  hand(own, 'w', {
    give: async ({ id }) => {
      turns.push(id)
      if (turns.length === 1) await meanwhile(store)
      return E.left(nothing)
    },
  })
  await until(() => turns.length > 0)
  return { store, turns }
}

describe('a worker that claims a step which somebody else has answered by then', () => {
  const more = (store: EventStore) => say(store, 'c', true)

  test('lets go of the conversation, and has its slot for another one', async () => {
    const { store, turns } = await late()
    await say(store, 'd', true)
    await until(async () => (await stepsOf(store)).length === 0)
    expect(turns).toEqual(['c', 'd'])
  })

  test('takes what is said while it finds nothing to answer, whether it hears of that in time or not', async () => {
    for (const heard of [() => {}, settled]) {
      const { turns } = await late((store) => more(store).then(heard))
      await until(() => turns.length > 1)
      expect(turns).toEqual(['c', 'c'])
    }
  })

  test('takes what is said later', async () => {
    const { store, turns } = await late()
    await until(async () => (await stepsOf(store)).length === 0)
    await more(store)
    await until(() => turns.length > 1)
    expect(turns).toEqual(['c', 'c'])
  })
})

const { replies: _, ...account } = emptyAccount
/** Result of a turn whose model has finished. */
const turnOver: TurnResult = {
  conversation: 'c',
  position: 1,
  content: [],
  stopReason: 'end_turn',
  waiting: [],
  pending: [],
  ...account,
  ended: 'stop',
  calls: 1,
  tools: [],
}

test('a worker whose turn has claimed the conversation again after its reply takes what was asked before that claim', async () => {
  const store = memoryStore()
  const turns: string[] = []
  const give = async (chat: ConversationHandle) => {
    turns.push(chat.id)
    if (turns.length > 1) return E.left(nothing)
    await chat.append({ role: 'assistant', content: 'Yes.' })()
    await say(store, 'c', true)
    const { revision } = await orThrow(run(chat.turnLog.now()))
    const again = { step: 'turn-1@1', worker: 'w', attempt: 1, isTurn: true, at: 1 } as const
    await orThrow(run(chat.turnLog.append([{ type: 'TurnClaimed', data: again }], revision)))
    await settled()
    return E.right(turnOver)
  }
  await say(store, 'c', true)
  hand(store, 'w', { give })
  await until(() => turns.length > 1)
  expect(turns).toEqual(['c', 'c'])
})

test('a worker that receives its claim long after the reply takes what is said next as a first attempt', async () => {
  const store = memoryStore()
  const { promise: isThere, resolve: arrive } = Promise.withResolvers<void>()
  const slow: EventStore = {
    ...store,
    follow: async function* (options) {
      for await (const followed of store.follow(options)) {
        if (followed.type === 'event' && followed.event.type === 'TurnClaimed') await isThere
        yield followed
      }
    },
  }
  const { clock, pass } = handClock()
  const give = async (chat: ConversationHandle) => {
    await chat.append({ role: 'assistant', content: 'Yes.' })()
    return E.right({ ...turnOver, conversation: chat.id })
  }
  await say(store, 'c', true)
  const { stop, ended } = hand(slow, 'w', { give }, clock)
  await pass(5_000)
  await say(store, 'c', true)
  await pass(0)
  arrive()
  await pass(5_000)
  const facts = await orThrow(run(storeOn(store, actor).conversation('c').turnLog.after(-1)))
  expect(facts.filter(({ type }) => type === 'TurnClaimed').map(({ data }) => data)).toMatchObject([
    { step: 'conversation@0', attempt: 1 },
    { step: 'conversation@2', attempt: 1 },
  ])
  stop()
  await pass(0)
  expect(await ended).toMatchObject({ why: 'stopped', left: [] })
})

/** What models and the functions of programs come up with. */
const failure = fc.record(
  {
    _tag: fc.constantFrom<TurnError['_tag']>('ModelFailed', 'ModelStalled', 'NothingToAnswer'),
    message: fc.string({ unit: 'binary' }),
    retryAfter: fc.oneof(fc.double(), fc.constantFrom(1_234.5, Infinity, Number.NaN, 1e300, -1)),
    status: fc.constantFrom(400, 401, 429, 500, 529),
  },
  { requiredKeys: ['_tag', 'message'] },
)

test('however an attempt fails, that can be recorded', () => {
  fc.assert(
    fc.property(failure, fc.integer({ min: 1, max: 6 }), (error, attempt) => {
      const outcome = outcomeOf(E.left(error), { attempt, isStopping: false })
      if (outcome.reason === 'settled') throw new Error('nothing was answered')
      const fact = leaveFactOf('w', { step: 'conversation@0', ...outcome }, { attempt, errors: [] })
      const metadata = { time: '2026-01-01T00:00:00.000Z', actor, commandId: 'c', prev: null }
      expect(turnCodec.encode(fact, 'id', metadata)).toMatchObject({ _tag: 'Right' })
    }),
  )
})

test('what an API says at length is recorded in part: a store takes only so much', () => {
  const error = { _tag: 'ModelFailed', message: 'x'.repeat(2_000_000) } as const
  const outcome = outcomeOf(E.left(error), { attempt: 1, isStopping: false })
  expect(JSON.stringify(outcome).length).toBeLessThan(20_000)
})
