import fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { isMove } from '../../src/commands/decide.ts'
import { stateOf } from '../../src/commands/state.ts'
import type { ConversationEvent, Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { maxGap, viewIn } from '../../src/projections/layout.ts'
import { lastOf, type Log } from '../../src/projections/path.ts'
import { lastPosition, readChainEnd } from '../../src/conversation/reading/ends.ts'
import { run } from '../../src/result/fallible.ts'
import {
  gatherShownState,
  gatherMoveState,
  gatherAppendState,
} from '../../src/conversation/reading/gather.ts'
import { loadEffective } from '../../src/conversation/reading/load.ts'
import { loadLog, openShown } from '../../src/conversation/reading/log.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { reader } from '../../src/conversation/reading/reader.ts'
import { storeOn } from '../../src/api/open.ts'
import { verify } from '../../src/conversation/verify.ts'
import { right } from '../support/either.ts'
import { cutsOf, writeForked } from '../support/forked.ts'
import { histories, rawLogs, steps } from '../support/histories.ts'
import { runs as scaled, scale } from '../support/runs.ts'
import { namespaced } from '../support/namespaced.ts'
import { stores } from '../support/stores.ts'
import { withoutSalts } from '../support/receipts.ts'
import { write } from '../support/write.ts'

const runs = (usual: number): fc.Parameters<unknown> => ({ numRuns: scaled(usual) })

const opened = async (store: EventStore, id: string) => {
  const end = right(await run(readChainEnd(store, id)))
  return { reading: reader(store, end.lineage), last: lastPosition(end) }
}

/** Without what only the stored form knows: ids, times and salts. */
const plain = ({
  items,
  layout,
  head,
}: {
  items: readonly object[]
  layout: object
  head: number
}): unknown => ({
  items: items.map((item) => ({ ...withoutSalts(item), time: '', messageId: '' })),
  layout: withoutSalts(layout),
  head,
})

/** Some views left out; of the others, every second one is as it was written before views told of former tools. */
const withoutViews = (log: Log, every: number): Log =>
  log.map((event) => {
    const view = viewIn(event)
    if (!view) return event
    const { toolsFrom: _, ...older } = view
    const { view: __, ...data } = event.data as { readonly view?: unknown }
    if (event.position % every === 0) return { ...event, data } as ConversationEvent
    return event.position % 2 === 0
      ? event
      : ({ ...event, data: { ...data, view: older } } as ConversationEvent)
  })

describe('loading what is shown is folding everything', () => {
  const places = fc.array(fc.nat(200), { maxLength: 3 })

  test.each([
    ['memory', 150],
    ['eventstoredb', 8],
  ] as const)(
    'at every position of every log, as written by commands, whole or forked, with views or with some left out (%s)',
    async (name, logs) => {
      let checked = 0
      const whole = await stores[name]?.()
      if (!whole) throw new Error('there is no such store')
      await fc.assert(
        fc.asyncProperty(
          histories(80),
          places,
          fc.integer({ min: 1, max: 4 }),
          fc.boolean(),
          async (history, cuts, every, keep) => {
            const store = namespaced(whole, `${checked}-`)
            const { id, log } = await writeForked(
              store,
              keep ? history : withoutViews(history, every),
              cutsOf(history, cuts),
            )
            for (let at = -1; at <= lastOf(log); at++) {
              checked++
              // The end without its position, which is how one asks for what is shown now.
              const shown =
                log.length === 0 ? undefined : await openShown(store, id, at < lastOf(log) ? at : undefined)
              const reading = shown ? right(shown).reading : (await opened(store, id)).reading
              const loaded = right(await run(loadEffective(reading, at)))
              expect(plain(loaded.effective)).toEqual(plain(effective(log, at)))
            }
          },
        ),
        runs(logs),
      )
      // A few histories may all be short by chance; of hundreds the mean is sure.
      if (logs * scale > 100) expect(checked).toBeGreaterThan(12 * logs * scale)
      await whole.close()()
    },
  )

  test('at every position of logs that hold anything', async () => {
    await fc.assert(
      fc.asyncProperty(rawLogs(60), places, async (any, cuts) => {
        const memory = memoryStore()
        // A stream that begins with a Forked is a fork; here only those are that are cut off below.
        const raw = any.map((event, index): ConversationEvent =>
          index === 0 ? { ...event, type: 'Configured', data: {} } : event,
        )
        const { id, log } = await writeForked(memory, raw, cuts)
        const { reading } = await opened(memory, id)
        for (let at = -1; at <= lastOf(log); at++)
          expect(plain(right(await run(loadEffective(reading, at))).effective)).toEqual(
            plain(effective(log, at)),
          )
      }),
      runs(240),
    )
  })
})

describe('what a command is decided on', () => {
  test('is the same read piece by piece as computed from the whole log', async () => {
    await fc.assert(
      fc.asyncProperty(histories(50), fc.array(steps, { minLength: 1, maxLength: 5 }), async (log, next) => {
        const store = memoryStore()
        await write(store, 'c', log)
        const { reading, last } = await opened(store, 'c')
        const whole = right(await loadLog(reading, last))
        for (const step of next) {
          const command = step(log)
          if (!command || log.length === 0) continue
          const tail = right(await run(gatherAppendState(reading, 'c', last, command)))
          const gathered = isMove(command)
            ? right(await run(gatherMoveState(reading, tail, command)))
            : right(await run(gatherShownState(reading, tail, command)))
          const { replaced: _, ...wanted } = { replaced: undefined, ...gathered }
          expect(stateOf('c', whole, command)).toMatchObject(wanted)
        }
      }),
      runs(240),
    )
  })
})

describe('the cost of loading', () => {
  /** Counts the reads that pass through. */
  const counting = (store: EventStore): { readonly store: EventStore; readonly reads: () => number } => {
    let reads = 0
    return {
      store: {
        ...store,
        read: (range) => {
          reads++
          return store.read(range)
        },
      },
      reads: () => reads,
    }
  }

  test('is at most two reads and one for each segment of the view', async () => {
    await fc.assert(
      fc.asyncProperty(histories(80), async (log) => {
        const marker = log.findLastIndex((event) => viewIn(event) !== undefined)
        const view = marker < 0 ? undefined : viewIn(log[marker] as Event)
        if (!view) return
        const memory = memoryStore()
        await write(memory, 'c', log.slice(0, marker + 1))
        const { store, reads } = counting(memory)
        right(await storeOn(store, { kind: 'test' }).conversation('c').effective()())
        expect(reads()).toBeLessThanOrEqual(2 + view.items.length)
      }),
      runs(180),
    )
  })

  test('does not grow with a branch that was left between two shown messages', async () => {
    const message: Event = { type: 'MessageAppended', data: { role: 'user', content: [] } }
    const left = Array.from({ length: 3_000 }, () => message)
    const covers = { first: 0, last: 0 }
    const marker = { covers, messagesHidden: 1, tokens: { before: 0, after: 0 } }
    const before: readonly Event[] = [
      message,
      message,
      ...left,
      { type: 'Rewound', data: { to: 1 } },
      message,
    ]
    const last = before.length - 1
    const view = { items: [{ marker: before.length }, { first: 1, last: 1 }, { first: last, last }] }
    expect(last - 1).toBeGreaterThan(maxGap)
    const memory = memoryStore()
    await write(memory, 'c', [...before, { type: 'Truncated', data: { ...marker, view } }])
    const { store, reads } = counting(memory)
    const end = right(await run(readChainEnd(memory, 'c')))
    const loaded = right(await run(loadEffective(reader(store, end.lineage), before.length)))
    expect(loaded.effective.items.map(({ position }) => position)).toEqual([before.length, 1, last])
    expect(reads()).toBeLessThanOrEqual(5)
  })
})

describe.each(Object.entries(stores))('verify on the %s store', (name, open) => {
  test('finds nothing in what commands wrote', async () => {
    const store = await open()
    let n = 0
    await fc.assert(
      fc.asyncProperty(
        histories(40).filter(({ length }) => length > 0),
        async (log) => {
          const id = `${name}-${n++}`
          await write(store, id, log)
          expect(E.isRight(await run(verify(store, id)))).toBe(true)
          expect(right(await run(verify(store, id)))).toEqual({ conversation: id, events: log.length })
        },
      ),
      runs(50),
    )
    await store.close()()
  })
})
