import * as TE from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settledStreamOf } from '../../../src/events/settled-data.ts'
import { orThrow, run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore, RecordedEvent } from '../../../src/store/port.ts'
import {
  type WorkSnapshot,
  type CarriedStep,
  rules,
  joinParts,
  partsOf,
  type BoardSnapshot,
} from '../../../src/agent/workers/board/work-snapshot.ts'
import { type WorkBoard, createWorkBoard } from '../../../src/agent/workers/board/work-board.ts'
import { rosters } from '../../../src/agent/workers/peers/roster.ts'
import { snapshotsEnd, writeSettled } from '../../../src/agent/workers/board/snapshots.ts'
import { atEnd } from '../../support/at-end.ts'
import { left } from '../../support/either.ts'
import { stores } from '../../support/stores.ts'
import { hand, lasting, say, stepsOf, until } from '../../support/workers/hands.ts'
import { fillOldStore } from '../../support/workers/old-store.ts'

const conversations = ['a', 'b', 'c']
const workers = ['v', 'w']

/** Something that is recorded: in which stream, and what. */
interface Fact {
  readonly stream: string
  readonly type: string
  readonly data: object
  readonly metadata?: object
}

const one = fc.constantFrom
const stepName = fc.nat(20).map((n) => `conversation@${n}`)
const said = fc.record({
  role: one('user', 'assistant'),
  content: one([], [{ type: 'tool_use' }]),
  origin: one({}, { model: 'claude-opus-5-5', usage: { input_tokens: 7 } }, { usage: { output_tokens: 5 } }),
})
const inConversation = fc.oneof(
  fc.record({
    type: fc.constant('MessageAppended'),
    data: said,
    metadata: one({}, { answer: true }, { answer: { tenant: 't', priority: 2 } }),
  }),
  fc.record({ type: fc.constant('Rewound'), data: fc.constant({ to: 0 }) }),
)
const inTurns = fc.oneof(
  fc.record({
    type: one('TurnRequested', 'TurnUnparked', 'ToolStarted', 'CallDecided', 'TurnsPaused', 'TurnsResumed'),
    data: fc.constant({}),
  }),
  fc.record({
    type: fc.constant('TurnClaimed'),
    data: fc.record({ step: stepName, worker: one(...workers), attempt: fc.integer({ min: 1, max: 5 }) }),
  }),
  fc.record({
    type: fc.constant('TurnReleased'),
    data: fc.record(
      {
        step: stepName,
        worker: one(...workers),
        reason: one('done', 'waiting', 'failed', 'free', 'shutdown'),
        waitMs: fc.nat(5_000),
        error: one('no', 'never'),
      },
      { requiredKeys: ['step', 'worker', 'reason'] },
    ),
  }),
  fc.record({
    type: fc.constant('TurnParked'),
    data: fc.record({ step: stepName, errors: one(['no'], []) }),
  }),
)
const inInbox = fc.record({
  type: one('Queued', 'Taken'),
  data: fc.constant({}),
  metadata: one({}, { answer: true }),
})
const ofWorkers = fc.record({
  type: one('WorkerBeat', 'WorkerBeat', 'WorkerStopped', 'WorkerPaused', 'WorkerResumed'),
  data: fc.record({ slots: fc.integer({ min: 1, max: 8 }), busy: fc.nat(8) }),
})

const beside = (prefix: string, names: readonly string[], facts: fc.Arbitrary<Omit<Fact, 'stream'>>) =>
  fc.tuple(one(...names), facts).map(([name, fact]): Fact => ({ ...fact, stream: `${prefix}-${name}` }))

/** A log that need not make sense: what workers know of it must be the same, wherever they begin. */
const log: fc.Arbitrary<readonly RecordedEvent[]> = fc
  .array(
    fc.record({
      fact: fc.oneof(
        { weight: 4, arbitrary: beside('conversation', conversations, inConversation) },
        { weight: 4, arbitrary: beside('turns', conversations, inTurns) },
        { weight: 1, arbitrary: beside('inbox', conversations, inInbox) },
        { weight: 1, arbitrary: beside('worker', workers, ofWorkers) },
      ),
      /** Whether the event was written by the command that wrote the one before. */
      isWithLast: fc.boolean(),
    }),
    { maxLength: 60 },
  )
  .map((facts) => {
    const ends = new Map<string, number>()
    let command = 0
    return facts.map(({ fact: { stream, type, data, metadata = {} }, isWithLast }, index) => {
      const revision = (ends.get(stream) ?? -1) + 1
      ends.set(stream, revision)
      if (!isWithLast) command++
      const time = `2026-01-01T${String(index % 7).padStart(2, '0')}:00:00.${String(index).padStart(3, '0')}Z`
      const text = JSON.stringify({ commandId: `c${command}`, time, ...metadata })
      return {
        id: `e${index}`,
        stream,
        revision,
        checkpoint: String(index),
        type,
        data: JSON.stringify(data),
        metadata: text,
      }
    })
  })

const inOrder = ({ steps, workers: all, paused = [], spending = [], ...rest }: WorkSnapshot) => ({
  ...rest,
  paused: paused.toSorted(),
  spending: spending.toSorted((x, y) => (x.period + x.tenant < y.period + y.tenant ? -1 : 1)),
  steps: steps
    .map((its) => ({ ...its, turnsAt: undefined }))
    .toSorted((x, y) => (x.conversation < y.conversation ? -1 : 1)),
  workers: all.toSorted((x, y) => (x.worker < y.worker ? -1 : 1)),
})
const knownOf = (
  events: readonly RecordedEvent[],
  known: WorkBoard = createWorkBoard(() => true),
): WorkBoard => {
  for (const event of events) known.see(event, 0)
  return known
}
/** As it comes out of the store. */
const settled = (known: WorkBoard): WorkSnapshot => {
  const parts = partsOf({ checkpoint: 'here', known: known.carried(0) }, [''])
  const last = parts.at(-1)
  if (!last) throw new Error('no part')
  return joinParts(JSON.parse(JSON.stringify(parts)) as typeof parts, last).known
}

describe('what is settled', () => {
  test('is all that a reader has to know of the events before it', () => {
    fc.assert(
      fc.property(log, fc.nat(60), (events, cut) => {
        const known = createWorkBoard(() => true)
        const before = knownOf(events.slice(0, cut))
        const open = [...before.steps.keys()]
        known.restore(settled(before), 0)
        knownOf(events.slice(cut), known)
        const all = knownOf(events)
        expect(inOrder(known.carried(0))).toEqual(inOrder(all.carried(0)))
        expect(Object.fromEntries(known.steps)).toEqual(Object.fromEntries(all.steps))
        // Of a conversation that nobody was asked about, a worker reads the end of the turns when it claims.
        for (const id of conversations) expect([undefined, all.turnsAt(id)]).toContain(known.turnsAt(id))
        for (const id of open) expect(known.turnsAt(id)).toBe(all.turnsAt(id))
      }),
      { numRuns: 1_000 },
    )
  })
})

const actor = { kind: 'test' }

/** The store, and how many events were read from it. */
const countingReads = (store: EventStore) => {
  let events = 0
  const readAll: EventStore['readAll'] = (range) => async () => {
    const page = await store.readAll(range)()
    if (page._tag === 'Right') events += page.right.events.length
    return page
  }
  return { store: { ...store, readAll }, events: () => events }
}
const settledIn = async (store: EventStore, prefixes = ['']): Promise<number> =>
  (await orThrow(run(snapshotsEnd(store, prefixes)))) + 1
describe.each(Object.entries(stores))('workers on %s', (_, open) => {
  test('settle what they know once they have read enough, and whoever looks then reads only what comes after it', async () => {
    const store = await open()
    atEnd(store.close)
    await fillOldStore(store, { old: 50, open: 1 })
    const first = hand(store, 'first', { settleAfter: 20, give: lasting })
    await until(async () => (await settledIn(store)) > 0)
    await say(store, 'later', true)
    const listed = countingReads(store)
    expect(await stepsOf(listed.store)).toEqual(['open-0 claimed', 'later open'])
    expect(listed.events()).toBeLessThan(20)
    first.stop()
    await first.ended
    const second = countingReads(store)
    hand(second.store, 'second', { slots: 2, give: lasting })
    await until(async () => (await stepsOf(store)).every((step) => step.endsWith('claimed')))
    expect(second.events()).toBeLessThan(20)
    for await (const { workers: all } of rosters(store)) expect(all).toHaveLength(1)
  })
})

test('to read a large store does not keep the process from its timers', async () => {
  const store = await stores['sqlite']?.()
  if (!store) throw new Error('no store')
  atEnd(store.close)
  await fillOldStore(store, { old: 10_000, open: 1 })
  let isOver = false
  let ticks = 0
  const tick = (): void => {
    ticks++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  const all = stepsOf(store)
  expect(await all).toHaveLength(1)
  isOver = true
  expect(ticks).toBeGreaterThan(1)
})

test('who reads a store for the first time settles on the way: if it ends, the next one continues from there', async () => {
  const store = memoryStore()
  await fillOldStore(store, { old: 400, open: 4 })
  const { store: counted, events } = countingReads(store)
  const away = { _tag: 'StoreUnavailable', message: 'away', store: 'memory:' } as const
  const readAll: EventStore['readAll'] = (range) =>
    events() > 300 ? TE.left(away) : counted.readAll({ ...range, limit: 10 })
  const first = hand({ ...counted, readAll }, 'first', { settleAfter: 1 })
  await until(() => events() > 300)
  first.stop()
  expect((await first.ended).isRecorded).toBe(true)
  expect(await settledIn(store)).toBeGreaterThan(0)
  const listed = countingReads(store)
  expect(await stepsOf(listed.store)).toHaveLength(4)
  expect(listed.events()).toBeLessThan(310)
})

const stepOf = (conversation: string, error = 'no'): CarriedStep => ({
  conversation,
  name: 'conversation@0',
  stage: 'open',
  asking: {},
  begunBy: 'conversation@0',
  attempt: 2,
  errors: [error],
  since: '2026-01-01T00:00:00.000Z',
  hasMail: false,
})

/** A store with one event, and what may be settled after it. */
const scene = async (names: readonly string[], error?: string) => {
  const store = memoryStore()
  await say(store, 'old')
  const { checkpoint } = await orThrow(store.readAll({ limit: 10 }))
  const settledAs = (ids: readonly string[]): BoardSnapshot => ({
    checkpoint: checkpoint ?? '',
    known: { steps: ids.map((id) => stepOf(id, error)), workers: [], claims: 0 },
  })
  const write = (ids: readonly string[], prefixes: readonly string[] = [''], end = -1) =>
    run(writeSettled({ store, actor }, prefixes, settledAs(ids), end))
  await orThrow(write(names))
  return { store, write }
}
/** Appends an event of somebody else. */
const append = async (store: EventStore, stream: string, data: object): Promise<void> => {
  const end = await settledIn(store)
  const event = { id: `strange${end}`, type: 'Settled', data: JSON.stringify(data), metadata: '{}' }
  await orThrow(store.append({ stream, events: [event], expected: end - 1 }))
}

describe('of two that settle', () => {
  test('at the same revision, one wins, and what it wrote counts', async () => {
    const { store, write } = await scene(['one'])
    expect(left(await write(['other']))._tag).toBe('Conflict')
    expect(await stepsOf(store)).toEqual(['one open'])
  })
  test('the later one counts', async () => {
    const { store, write } = await scene(['one'])
    await orThrow(write(['two'], [''], 0))
    expect(await stepsOf(store)).toEqual(['two open'])
  })
})

describe('what is settled for some conversations', () => {
  test('serves those who serve no others, and what is settled for all serves everybody', async () => {
    const { store, write } = await scene(['billing-1', 'sales-1'])
    expect(await stepsOf(store, ['billing-'])).toEqual(['billing-1 open'])
    await new Promise((resolve) => setTimeout(resolve, 2))
    await orThrow(write(['billing-2'], ['billing-', 'sales-']))
    expect(await stepsOf(store)).toEqual(['billing-1 open', 'sales-1 open'])
    expect(await stepsOf(store, ['sales-', 'billing-', 'billing-eu-'])).toEqual(['billing-2 open'])
    expect(await stepsOf(store, ['billing-', 'support-'])).toEqual(['billing-1 open'])
  })
})

describe('what is settled is ignored', () => {
  test('while a part of it is missing: the one before it counts', async () => {
    const long = 'x'.repeat(100_000)
    const { store, write } = await scene(['a', 'b', 'c', 'd', 'e'], long)
    expect(await settledIn(store)).toBe(3)
    expect(await stepsOf(store)).toHaveLength(5)
    const cut: EventStore = {
      ...store,
      append: (request) =>
        request.expected === 4 ? () => Promise.reject(new Error('killed')) : store.append(request),
    }
    const known = { steps: ['f', 'g', 'h', 'i', 'j'].map((id) => stepOf(id, long)), workers: [], claims: 0 }
    const { checkpoint = '' } = await orThrow(store.readAll({ limit: 1 }))
    await expect(run(writeSettled({ store: cut, actor }, [''], { checkpoint, known }, 2))).rejects.toThrow(
      'killed',
    )
    expect(await settledIn(store)).toBe(5)
    expect(await stepsOf(store)).toEqual(['a', 'b', 'c', 'd', 'e'].map((id) => `${id} open`))
    await orThrow(write(['k'], [''], 4))
    expect(await stepsOf(store)).toEqual(['k open'])
  })
  test.each([
    ['it was found by other rules', { rules: rules + 1 }],
    ['it was found by rules that did not tell forks', { rules: 6 }],
    ['it names a place that the store does not have', { checkpoint: '99-x' }],
    ['it has another shape', { steps: 'all' }],
  ])('where %s', async (_, other) => {
    const { store } = await scene(['one'])
    const stream = settledStreamOf([''])
    const [event] = await orThrow(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))
    const data = JSON.parse(event?.data ?? '') as object
    await append(store, stream, { ...data, steps: [], ...other })
    expect(await stepsOf(store)).toEqual(['one open'])
    await append(store, stream, { ...data, steps: [] })
    expect(await stepsOf(store)).toEqual([])
  })
})
