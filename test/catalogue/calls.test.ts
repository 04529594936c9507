import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CallsPage } from '../../src/catalogue/calls.ts'
import type { OwnCatalogue } from '../../src/catalogue/catalogue.ts'
import type { ConversationEvent, Event, Origin, Receipt } from '../../src/events/events.ts'
import type { Log } from '../../src/projections/path.ts'
import { everyCallIn, type ModelCall, type UnprovenCall } from '../../src/agent/receipts/calls.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { atEnd } from '../support/at-end.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { left, right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { assistant, condensed, eventAt, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { chainOf, write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

type Call = ModelCall | UnprovenCall

const cataloguing = (store: EventStore, patience?: number): OwnCatalogue => {
  const catalogue = catalogueOf(store, undefined, patience)
  atEnd(catalogue.close)
  return catalogue
}

/** Every call of a log, counted from its beginning. */
const countedIn = async (log: Log): Promise<readonly Call[]> => {
  const events = async function* (): AsyncGenerator<ConversationEvent, void> {
    yield* log
  }
  const calls: Call[] = []
  for await (const call of everyCallIn(events())) calls.push(call)
  return calls
}

/** Every call from a position on, page by page. */
const listed = async (
  catalogue: OwnCatalogue,
  id: string,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<readonly Call[]> => {
  const calls: Call[] = []
  for (let next: number | undefined = from; next !== undefined;) {
    const page: CallsPage = right(await catalogue.calls(id, { from: next, limit })())
    if (page.next !== undefined) expect(page.items.length).toBeGreaterThanOrEqual(limit)
    calls.push(...page.items)
    next = page.next
  }
  return calls
}

const digest = (of: number): string => of.toString(16).padStart(64, '0')
const receipt = (of: number, options = {}): Receipt => ({ position: 0, digest: digest(of), options })
/** The receipt of a summary that took two calls. */
const ofTwo = (of: number): Receipt => {
  const sent = { digest: digest(of + 100), images: true }
  const parts = [{ last: 1, text: 'So far.', sent }]
  return receipt(of, { summarizer: 1, covers: { first: 0, last: 3 }, images: true, parts })
}
const origins: readonly (Origin | undefined)[] = [
  undefined,
  { model: 'claude-opus-5-5' },
  { model: 'claude-opus-5-5', context: receipt(1) },
  { requestId: 'req_1', context: receipt(2) },
  { requestId: 'req_2', context: ofTwo(2) },
]

const answered = (event: ConversationEvent, origin: Origin | undefined): ConversationEvent => {
  if (event.type !== 'Condensed' && event.type !== 'MessageAppended') return event
  const { origin: _, ...data } = event.data
  return { ...event, data: { ...data, ...(origin && { origin }) } } as ConversationEvent
}

describe.each([
  ['logs that commands wrote', histories(60)],
  ['logs of any events', rawLogs(60)],
])('of %s, whole or forked,', (_, logs) => {
  test('the calls from any position on are those that are counted from the beginning', async () => {
    let most = 0
    await fc.assert(
      fc.asyncProperty(
        logs,
        fc.array(fc.nat(200), { maxLength: 3 }),
        fc.array(fc.constantFrom(...origins), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 5 }),
        async (any, cuts, given, limit) => {
          if (any.length === 0) return
          const told = any.map((event, index) => answered(event, given[index % given.length]))
          const { store, id, log } = await storedForked(told, cuts)
          const catalogue = catalogueOf(store, undefined)
          const expected = await countedIn(log)
          for (let from = 0; from <= log.length; from++)
            expect(await listed(catalogue, id, { from, limit })).toEqual(
              expected.filter(({ position }) => position >= from),
            )
          const numbered = expected.filter((call) => 'number' in call)
          for (let number = 1; number <= numbered.length + 1; number++) {
            const { items } = right(await catalogue.calls(id, { number, limit: 1 })())
            const its = numbered.filter((call) => call.number >= number)
            expect(items).toEqual(its.filter(({ position }) => position === its[0]?.position))
          }
          most = Math.max(most, expected.length)
          await catalogue.close()
        },
      ),
      { numRuns: runs(40) },
    )
    expect(most).toBeGreaterThan(5)
  })
})

/** Turns of a question and a reply with a receipt; each hundredth reply has none. */
const turns = (count: number): readonly Event[] =>
  Array.from({ length: count }, (_, n) => [
    user('Why?'),
    assistant('So.', n % 100 === 99 ? { model: 'm' } : { context: receipt(n) }),
  ]).flat()

test('calls are numbered across the borders of what is indexed together', async () => {
  const summary = condensed(0, 3)
  const again: Event = { ...summary, data: { ...summary.data, origin: { context: ofTwo(7) } } }
  const events = [...turns(300), again, ...turns(300), again, ...turns(10)]
  const store = memoryStore()
  await write(store, 'a', events)
  const catalogue = cataloguing(store)
  const expected = await countedIn(events.map(eventAt))
  expect(expected.at(-1)).toMatchObject({ number: 297 + 2 + 297 + 10 })
  for (const from of [0, 511, 512, 513, 600, 601, 1_023, 1_024, 1_025, 1_201, 1_202, 1_221, 9_999])
    expect(right(await catalogue.calls('a', { from, limit: 3 })()).items).toEqual(
      expected.filter(({ position }) => position >= from).slice(0, 3),
    )
  for (const number of [1, 254, 255, 298, 300, 400, 606, 607])
    expect(right(await catalogue.calls('a', { number })()).items).toEqual(
      expected.filter((call) => 'number' in call && call.number >= number),
    )
})

test('calls after an event that cannot be indexed are counted, too', async () => {
  const store = memoryStore()
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const reading = assistant([{ type: 'tool_use', id: 't', name: 'look', input: { deep: 'DEEP' } }])
  const events = chainOf('a', [...turns(2), reading, ...turns(2)])
  const nested = events.map((event) => ({ ...event, data: event.data.replace('"DEEP"', deep) }))
  right(await store.append({ stream: 'conversation-a', expected: -1, events: nested })())
  const catalogue = cataloguing(store)
  const { items } = right(await catalogue.calls('a', { from: 8 })())
  expect(right(await catalogue.outline('a')()).indexed).toBe(3)
  expect(items).toMatchObject([{ number: 4, position: 8 }])
  expect(right(await catalogue.calls('a', { number: 4 })()).items).toEqual(items)
})

test('the first calls are listed without the index, also while it cannot be built', async () => {
  const store = memoryStore()
  await write(store, 'a', turns(3))
  const held = Promise.withResolvers<void>()
  let isAsked = false
  const readAll: EventStore['readAll'] = (range) => async () => {
    isAsked = true
    await held.promise
    return store.readAll(range)()
  }
  // An eighth of this is waited for what can be answered without the index.
  const catalogue = cataloguing({ ...store, readAll }, 4_000)
  const { items } = right(await catalogue.calls('a', { limit: 2 })())
  expect([items, isAsked]).toMatchObject([[{ number: 1 }, { number: 2 }], false])
  const later = right(await catalogue.calls('a', { number: 3 })())
  held.resolve()
  expect([later.items, isAsked]).toMatchObject([[{ number: 3 }], true])
})

test('what is no position and no conversation is refused', async () => {
  const catalogue = cataloguing(memoryStore())
  expect(left(await catalogue.calls('a', { from: -1 })())).toMatchObject({
    _tag: 'InvalidInput',
    path: 'from',
  })
  expect(left(await catalogue.calls('a', { limit: 0 })())).toMatchObject({ _tag: 'InvalidInput' })
  expect(left(await catalogue.calls('a')())._tag).toBe('ConversationNotFound')
})
