import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HiddenByMarker } from '../../src/projections/lookups.ts'
import { hiddenBy, kindsOf, outlineBy, toolsOf } from '../support/catalogue/model.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { left, right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { runs } from '../support/runs.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

const places = fc.array(fc.nat(200), { maxLength: 3 })

describe.each([
  ['logs that commands wrote', histories(60), 60],
  ['logs of any events', rawLogs(60), 100],
])('of %s, whole or forked,', (_, logs, numRuns) => {
  test('the outline says at every position what the plain fold says', async () => {
    await fc.assert(
      fc.asyncProperty(logs, places, async (any, cuts) => {
        if (any.length === 0) return
        const { store, id, log } = await storedForked(any, cuts)
        const catalogue = catalogueOf(store, undefined)
        const { last, indexed, next, tokens, ...outline } = right(await catalogue.outline(id)())
        expect(outline).toEqual(outlineBy(log))
        expect(tokens).toHaveLength(log.length)
        expect([last, indexed, next]).toEqual([log.length - 1, log.length - 1, undefined])
        await catalogue.close()
      }),
      { numRuns: runs(numRuns) },
    )
  })

  test('what a marker hides is counted at all levels', async () => {
    await fc.assert(
      fc.asyncProperty(logs, places, async (any, cuts) => {
        if (any.length === 0) return
        const { store, id, log } = await storedForked(any, cuts)
        const catalogue = catalogueOf(store, undefined)
        const together: HiddenByMarker[] = []
        for (const { position, type } of log) {
          const found = right(await catalogue.hidden(id, position)())
          if (found) together.push(found)
          const hidden = type === 'Condensed' || type === 'Truncated' ? hiddenBy(log, position) : undefined
          expect(found === undefined).toBe(hidden === undefined)
          if (!found || !hidden) continue
          const messages = hidden.filter((event) => event.type === 'MessageAppended').length
          expect(found).toMatchObject({ marker: position, messages, kinds: kindsOf(hidden) })
          expect(Object.fromEntries(found.tools)).toEqual(toolsOf(hidden))
          expect(found.tools.map(([, calls]) => calls)).toEqual(
            found.tools.map(([, calls]) => calls).toSorted((one, other) => other - one),
          )
        }
        const all = log.map(({ position }) => position)
        expect(right(await catalogue.hiddenBy(id, all)())).toEqual(together)
        expect(left(await catalogue.hiddenBy(id, [...all, log.length])())._tag).toBe('OutOfRange')
        await catalogue.close()
      }),
      { numRuns: runs(numRuns / 2) },
    )
  })

  test('the overview has each position in one of its parts', async () => {
    await fc.assert(
      fc.asyncProperty(logs, places, fc.integer({ min: 1, max: 80 }), async (any, cuts, wanted) => {
        if (any.length === 0) return
        const { store, id, log } = await storedForked(any, cuts)
        const catalogue = catalogueOf(store, undefined)
        const { first, min, max, markers, rewinds, failed, retries, buckets, ...overview } = right(
          await catalogue.overview(id, { buckets: wanted })(),
        )
        expect(buckets).toBe(Math.min(wanted, log.length))
        expect([first.length, first[0]]).toEqual([buckets, 0])
        const { kinds, failed: failures } = outlineBy(log)
        const { tokens, retries: retried } = right(await catalogue.outline(id)())
        const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)
        expect([sum(failed), sum(retries)]).toEqual([failures.length, retried.length])
        expect(Object.keys(overview.kinds).toSorted()).toEqual([...new Set(kinds)].toSorted())
        for (const [bucket, from] of first.entries()) {
          const to = first[bucket + 1] ?? log.length
          expect(to).toBeGreaterThan(from)
          const part = kinds.slice(from, to).replaceAll(/[^CTW]/g, '')
          for (const [kind, counts] of Object.entries(overview.kinds))
            expect(counts[bucket]).toBe(kinds.slice(from, to).split(kind).length - 1)
          expect([min[bucket], max[bucket], markers[bucket], rewinds[bucket]]).toEqual([
            Math.min(...tokens.slice(from, to)),
            Math.max(...tokens.slice(from, to)),
            part.replaceAll('W', '').length,
            part.replaceAll(/[CT]/g, '').length,
          ])
        }
        await catalogue.close()
      }),
      { numRuns: runs(numRuns / 2) },
    )
  })
})
