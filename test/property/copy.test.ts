import fc from 'fast-check'
import { run } from '../../src/result/fallible.ts'
import { expect, test } from 'vitest'
import { streamOf } from '../../src/events/ids.ts'
import { effective } from '../../src/projections/effective.ts'
import { lastOf } from '../../src/projections/path.ts'
import { copyBetween } from '../../src/transfer/copy.ts'
import { loadLog, openAt } from '../../src/conversation/reading/log.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { right } from '../support/either.ts'
import { histories } from '../support/histories.ts'
import { runs } from '../support/runs.ts'
import { chainOf } from '../support/write.ts'

test('a copy that was begun at any event shows the same effective history at every position', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories(60).filter(({ length }) => length > 0),
      fc.nat(),
      async (log, picked) => {
        const stream = streamOf('c')
        const events = chainOf('c', log)
        const from = memoryStore()
        right(await from.append({ stream, events, expected: -1 })())
        const to = memoryStore()
        const begun = events.slice(0, picked % (events.length + 1))
        if (begun.length > 0) right(await to.append({ stream, events: begun, expected: -1 })())
        const added = events.length - begun.length
        expect(right(await run(copyBetween(from, to)))).toEqual([{ id: 'c', events: events.length, added }])
        const { reading, last } = right(await openAt(to, 'c'))
        const copy = right(await loadLog(reading, last))
        const original = right(await openAt(from, 'c'))
        const whole = right(await loadLog(original.reading, original.last))
        expect(lastOf(copy)).toBe(lastOf(log))
        for (let at = -1; at <= lastOf(copy); at++) expect(effective(copy, at)).toEqual(effective(whole, at))
      },
    ),
    { numRuns: runs(120) },
  )
})
