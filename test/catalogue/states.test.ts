import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type IndexedChange, stateAt, turner } from '../../src/catalogue/states.ts'
import { full } from '../../src/projections/full.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { left, right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

test('what hid an entry is found, however many summaries of summaries came after it', () => {
  const times = 4_096
  const marks: IndexedChange[] = []
  for (let time = 0; time < times; time++) {
    const summary = 4 * time
    // The last three messages and the summary before; in the middle the first message, too.
    const first = time === 0 ? 1 : time === times / 2 ? 0 : summary
    marks.push({ position: summary + 4, kind: 'C', target: -1, covers: { first, last: summary + 3 } })
  }
  const state = (entry: number) => stateAt(marks.map(turner()), entry, 4 * times)
  expect(state(0)).toEqual({ state: 'hidden', by: 4 * 2_049 })
  expect(state(1)).toEqual({ state: 'hidden', by: 4 })
  expect(state(8_001)).toEqual({ state: 'hidden', by: 8_004 })
  expect(state(4 * times)).toEqual({ state: 'shown' })
})

describe.each([
  ['logs that commands wrote', histories(60)],
  ['logs of any events', rawLogs(60)],
])('of %s, whole or forked,', (_, logs) => {
  test('the fates of entries are those of the full history, seen from any position', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.array(fc.nat(200), { maxLength: 3 }), fc.nat(), async (any, cuts, from) => {
        if (any.length === 0) return
        const { store, id, log } = await storedForked(any, cuts)
        const catalogue = catalogueOf(store, undefined)
        const at = from % log.length
        const fates = right(await catalogue.fates(id, { at, of: [...log.keys()] })())
        const entries = full(log, { at, abandoned: true })
        expect(fates).toEqual(
          entries.map(({ position, status, by }) => ({ position, status, ...(by !== undefined && { by }) })),
        )
        await catalogue.close()
      }),
      { numRuns: runs(100) },
    )
  })
})

test('fates are those of positions that there are', async () => {
  const store = memoryStore()
  await write(store, 'a', [user('Why?')])
  const catalogue = catalogueOf(store, undefined)
  atEnd(catalogue.close)
  const fates = async (at: number, of: readonly number[]) => catalogue.fates('a', { at, of })()
  expect(right(await fates(0, [-1, 0, 1, 9]))).toEqual([{ position: 0, status: 'active' }])
  expect(left(await fates(1, [0]))._tag).toBe('OutOfRange')
  expect(left(await fates(0, [0.5]))).toMatchObject({ _tag: 'InvalidInput', path: 'of' })
  expect(left(await catalogue.fates('a', {} as never)())).toMatchObject({ _tag: 'InvalidInput', path: 'at' })
})
