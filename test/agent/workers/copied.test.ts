import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../src/api/open.ts'
import type { TurnFact } from '../../../src/events/turn-events.ts'
import { tell } from '../../../src/conversation/beside/worker-log.ts'
import { copyBetween } from '../../../src/transfer/copy.ts'
import { run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { type EventStore, maxPage, type RecordedEvent } from '../../../src/store/port.ts'
import { createWorkBoard } from '../../../src/agent/workers/board/work-board.ts'
import { listSteps, type OpenStepInfo } from '../../../src/agent/workers/peers/roster.ts'
import { createWorkRequester } from '../../../src/agent/workers/requests.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { text } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'
import { stores } from '../../support/stores.ts'

const actor = { kind: 'test' }
const chatIn = (store: EventStore, id = 'c') => storeOn(store, actor).conversation(id)
type Chat = ReturnType<typeof chatIn>

/** Each command is a millisecond after the one before. */
const ticking = () => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  return () => new Date(now++)
}

const record = async (chat: Chat, fact: TurnFact, now = new Date()): Promise<void> => {
  const { revision } = right(await run(chat.turnLog.now()))
  const begun: readonly TurnFact[] = revision < 0 ? [{ type: 'TurnsBegun', data: { at: -1 } }] : []
  right(await run(chat.turnLog.append([...begun, fact], revision, { now })))
}
const eventsOf = async (store: EventStore): Promise<readonly RecordedEvent[]> =>
  right(await store.readAll({ limit: maxPage })()).events

const stepsOf = async (store: EventStore): Promise<readonly OpenStepInfo[]> => {
  const all: OpenStepInfo[] = []
  for await (const step of listSteps(store)) all.push(step)
  return all
}
const copied = async (from: EventStore, to: EventStore) => {
  const all = right(await run(copyBetween(from, to)))
  expect(all.map(({ error }) => error)).toEqual(all.map(() => undefined))
  return all
}

const question = { role: 'user' as const, content: 'Is it there?' }
const call = { type: 'tool_use' as const, id: 't', name: 'pay', input: {} }
const calling = { role: 'assistant' as const, content: [call], origin: { stopReason: 'tool_use' } }
const result = { role: 'user' as const, content: [{ type: 'tool_result' as const, tool_use_id: 't' }] }
const final = { role: 'assistant' as const, content: 'Yes.', origin: { stopReason: 'end_turn' } }

const deeds = [
  ...([
    'ask',
    'say',
    'request',
    'claim',
    'reply',
    'result',
    'final',
    'fail',
    'free',
    'done',
    'wait',
  ] as const),
  ...(['park', 'retry', 'rewind', 'decide', 'pause', 'resume'] as const),
]
type Deed = (typeof deeds)[number]
const endings = { fail: 'failed', free: 'free', done: 'done', wait: 'waiting' } as const

/** A conversation that came about so. */
const played = async (all: readonly Deed[]): Promise<EventStore> => {
  const store = memoryStore()
  const chat = chatIn(store)
  const tick = ticking()
  right(await chat.append(question, { now: tick() })())
  for (const deed of all) {
    const known = createWorkBoard(() => true)
    for (const event of await eventsOf(store)) known.see(event, 0)
    const step = known.steps.get('c')
    const at = right(await chat.position()())
    const now = tick()
    const tells = (fact: TurnFact) => record(chat, fact, now)
    switch (deed) {
      case 'ask':
      case 'say':
        await chat.append(question, { now, ...(deed === 'ask' && { answer: true }) })()
        break
      case 'reply':
        await chat.append(calling, { now })()
        break
      case 'result':
        await chat.append(result, { now })()
        break
      case 'final':
        await chat.append(final, { now })()
        break
      case 'rewind':
        await chat.rewind({ turns: 1, now })()
        break
      case 'request':
        await tells({ type: 'TurnRequested', data: { at } })
        break
      case 'claim':
        if (step?.stage === 'open' && step.holder === undefined)
          await tells({
            type: 'TurnClaimed',
            data: { step: step.name, worker: `w${step.attempt % 2}`, attempt: step.attempt, at },
          })
        break
      case 'fail':
      case 'free':
      case 'done':
      case 'wait':
        if (step?.holder !== undefined)
          await tells({
            type: 'TurnReleased',
            data: { step: step.name, worker: step.holder, reason: endings[deed], at: -1 },
          })
        break
      case 'park':
        if (step?.stage === 'open' && step.holder === undefined)
          await tells({
            type: 'TurnParked',
            data: { step: step.name, attempts: 5, errors: ['no'], at: -1 },
          })
        break
      case 'retry':
        await tells({ type: 'TurnUnparked', data: { by: 'ann', at } })
        break
      case 'decide':
        await tells({
          type: 'CallDecided',
          data: { reply: 0, call: 't', wait: 1, decision: 'approved', by: 'ann', at },
        })
        break
      case 'pause':
        await tells({ type: 'TurnsPaused', data: { by: 'ann', at } })
        break
      case 'resume':
        await tells({ type: 'TurnsResumed', data: { by: 'ann', at } })
        break
    }
  }
  return store
}

describe('what workers know of a copy', () => {
  test('is what they know of the original, whose holder is not there', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...deeds), { maxLength: 25 }), async (all) => {
        const [from, to] = [await played(all), memoryStore()]
        await copied(from, to)
        expect(await copied(from, to)).toMatchObject([{ added: 0 }])
        for (const worker of ['w0', 'w1'])
          right(await run(tell(from, actor, worker, { type: 'WorkerStopped', data: {} })))
        expect(await stepsOf(to)).toEqual(await stepsOf(from))
      }),
      { numRuns: runs(100) },
    )
  })
})

describe.each(Object.entries(stores))('a copy to a %s store', (_, open) => {
  const pair = async () => {
    const [from, to] = [memoryStore(), await open()]
    atEnd(to.close())
    return { from, to }
  }
  const claimed = async (from: EventStore, attempt: number) => {
    const [step] = await stepsOf(from)
    const data = { step: step?.step ?? '', worker: 'w-1', attempt, at: 0 }
    await record(chatIn(from), { type: 'TurnClaimed', data })
  }

  test('leaves what somebody has claimed to whoever is there, with the attempts that were made', async () => {
    const { from, to } = await pair()
    right(await chatIn(from).append(question, { answer: true })())
    await claimed(from, 3)
    await copied(from, to)
    expect(await stepsOf(from)).toMatchObject([{ state: 'claimed', holder: 'w-1', attempt: 3 }])
    const [step] = await stepsOf(to)
    expect(step).toMatchObject({ state: 'open', attempt: 3, errors: ['w-1 ended'] })
    expect(step).not.toHaveProperty('holder')
  })

  test('adds nothing the second time, and afterwards what its turns have done since', async () => {
    const { from, to } = await pair()
    right(await chatIn(from).append(question, { answer: true })())
    await claimed(from, 1)
    await copied(from, to)
    const before = (await eventsOf(to)).length
    expect(await copied(from, to)).toMatchObject([{ events: 1, added: 0 }])
    expect(await eventsOf(to)).toHaveLength(before)
    right(await createWorkRequester(chatIn(from)).pause({ by: 'ann' })())
    right(await chatIn(from).append(final)())
    expect(await copied(from, to)).toMatchObject([{ events: 2, added: 2 }])
    expect(await stepsOf(to)).toEqual([])
  })

  test('keeps what is parked parked, and what is paused paused', async () => {
    const { from, to } = await pair()
    for (const id of ['parked', 'paused']) right(await chatIn(from, id).append(question, { answer: true })())
    const data = { step: 'conversation@0', attempts: 5, errors: ['no'], at: 0 }
    await record(chatIn(from, 'parked'), { type: 'TurnParked', data })
    right(await createWorkRequester(chatIn(from, 'paused')).pause({ by: 'ann' })())
    await copied(from, to)
    expect((await stepsOf(to)).map(({ conversation, state, held }) => [conversation, state, held])).toEqual(
      (await stepsOf(from)).map(({ conversation, state, held }) => [conversation, state, held]),
    )
    expect(await stepsOf(to)).toContainEqual(expect.objectContaining({ state: 'parked', errors: ['no'] }))
    expect(await stepsOf(to)).toContainEqual(expect.objectContaining({ held: 'paused' }))
  })

  test('keeps what the user has queued, once', async () => {
    const { from, to } = await pair()
    const queue = async (said: string) => {
      const message = { role: 'user' as const, content: [text(said)] }
      right(await run(chatIn(from).inbox.queue([message], 0, {})))
    }
    right(await chatIn(from).append(question)())
    await queue('First.')
    const { position } = right(await chatIn(from).append({ role: 'user', content: 'First.' })())
    right(await run(chatIn(from).inbox.take(0, position)))
    await queue('Second.')
    await copied(from, to)
    const pending = right(await run(chatIn(to).inbox.pending()))
    expect(pending.map(({ data }) => data.messages[0]?.content)).toEqual([[text('Second.')]])
  })

  test('is another one where both have given turns since', async () => {
    const { from, to } = await pair()
    right(await chatIn(from).append(question)())
    await copied(from, to)
    for (const store of [from, to]) right(await createWorkRequester(chatIn(store)).pause({ by: 'ann' })())
    const [c] = right(await run(copyBetween(from, to)))
    expect(c?.error).toMatchObject({ _tag: 'CopyDiverged', revision: 0 })
    expect(c?.error?.message).toContain('the event of the turns at revision 0')
  })
})

test('who reads the end of a conversation before others write misses nothing that its turns have begun', async () => {
  const from = memoryStore()
  right(await chatIn(from).append(question)())
  // Each look at the stream of turns finds that the conversation has gone further.
  let looks = 0
  const busy: EventStore = {
    ...from,
    read: (range) => async () => {
      if (range.stream.startsWith('turns-') && range.direction === 'backwards' && looks++ < 3) {
        const { position } = right(await chatIn(from).append(calling)())
        const data = { reply: position, call: 't', tool: 'pay', effect: 'unsafe', at: position } as const
        await record(chatIn(from), { type: 'ToolStarted', data })
      }
      return from.read(range)()
    },
  }
  const to = memoryStore()
  await copied(busy, to)
  const events = await eventsOf(to)
  const replies = events.filter(({ data }) => data.includes('assistant')).map(({ revision }) => revision)
  const starts = events.filter(({ type }) => type === 'ToolStarted')
  expect(starts.map(({ data }) => (JSON.parse(data) as { reply: number }).reply)).toEqual(replies)
})
