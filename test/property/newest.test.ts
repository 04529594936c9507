import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConversationEvent } from '../../src/events/events.ts'
import { readChainEnd } from '../../src/conversation/reading/ends.ts'
import { loadDiff } from '../../src/conversation/reading/load-diff.ts'
import { loadNewest } from '../../src/conversation/reading/newest.ts'
import { reader } from '../../src/conversation/reading/reader.ts'
import { type Diff, diff } from '../../src/projections/diff.ts'
import { type Entry, full } from '../../src/projections/full.ts'
import { fold, viewOf } from '../../src/projections/layout.ts'
import type { Log } from '../../src/projections/path.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { run } from '../../src/result/fallible.ts'
import { right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { logOf, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { write } from '../support/write.ts'

/** The log with the views that some of its markers and restores could carry. */
const withViews = (log: Log, which: readonly boolean[]): Log =>
  log.map((event, at): ConversationEvent => {
    const { type } = event
    const isOne = type === 'Condensed' || type === 'Truncated' || type === 'Restored'
    if (!isOne || which[at % which.length] !== true) return event
    return { ...event, data: { ...event.data, view: viewOf(fold(log, at).layout) } } as ConversationEvent
  })

describe.each([
  ['logs that commands wrote', histories(50), 90],
  [
    'logs of any events, some with views',
    fc
      .tuple(rawLogs(50), fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }))
      .map(([log, which]) => withViews(log, which)),
    400,
  ],
])('the newest entries of %s', (_, logs, numRuns) => {
  test('are the end of the full history, and tell how two positions differ, at every position', async () => {
    await fc.assert(
      fc.asyncProperty(
        logs,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 12 }), fc.nat(), fc.boolean()), {
          minLength: 5,
          maxLength: 5,
        }),
        async (any, questions) => {
          if (any.length === 0) return
          const store = memoryStore()
          const log = any.map((event, index): ConversationEvent =>
            index === 0 && event.type === 'Forked' ? { ...event, type: 'Configured', data: {} } : event,
          )
          await write(store, 'c', log)
          const end = right(await run(readChainEnd(store, 'c')))
          for (const [where, last, until, abandoned] of questions) {
            const at = log.length - 1 - (where % Math.min(log.length, 8))
            const before = until % 3 === 0 ? log.length - (until % (log.length + 2)) : Infinity
            const found = right(
              await run(loadNewest(reader(store, end.lineage), { at, last, before, abandoned })),
            )
            const all = full(log, { at, abandoned }).filter(({ position }) => position < before)
            const bare = ({ position, kind, status, by }: Entry) => ({
              position,
              kind,
              status,
              by,
            })
            expect(found.map(bare)).toEqual(all.slice(-last).map(bare))
            const from = (until % (log.length + 1)) - 1
            const changed = right(await run(loadDiff(reader(store, end.lineage), from, at)))
            const told = ({ changes }: Diff) => changes.map(({ change, entry }) => [change, bare(entry)])
            expect(told(changed)).toEqual(told(diff(log, from, at)))
            expect(full(log, { at, abandoned, last, before })).toEqual(all.slice(-last))
          }
        },
      ),
      { numRuns: runs(numRuns) },
    )
  })
})

test('nothing comes before the start', () => {
  const log = logOf(user('A'), user('B'), user('C'))
  for (const before of [0, -1, -2]) expect(full(log, { before })).toEqual([])
})
