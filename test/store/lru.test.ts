import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLruCache } from '../../src/store/lru.ts'
import { runs } from '../support/runs.ts'

const names = ['a', 'b', 'c', 'd', 'e']

describe('a bounded number of names is remembered', () => {
  test('one that is read stays, and the one that was not used for longest goes', () => {
    const values = createLruCache<number>(2)
    values.set('a', 1)
    values.set('b', 2)
    values.get('a')
    values.set('c', 3)
    expect([values.get('a'), values.get('b'), values.get('c')]).toStrictEqual([1, undefined, 3])
  })

  test('one that is set again stays, and the one that was not used for longest goes', () => {
    const values = createLruCache<number>(2)
    values.set('a', 1)
    values.set('b', 2)
    values.set('a', 3)
    values.set('c', 4)
    expect([values.get('a'), values.get('b'), values.get('c')]).toStrictEqual([3, undefined, 4])
  })

  test('in any order of uses, those used last are remembered with what was last set', () => {
    const use = fc.record({ what: fc.constantFrom('get', 'set', 'forget'), name: fc.constantFrom(...names) })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(use, { maxLength: 40 }), (most, uses) => {
        const values = createLruCache<number>(most)
        let model: readonly (readonly [string, number])[] = []
        for (const [index, { what, name }] of uses.entries()) {
          const found = model.find(([one]) => one === name)
          const others = model.filter((one) => one !== found)
          if (what === 'get') expect(values.get(name)).toBe(found?.[1])
          if (what === 'set') values.set(name, index)
          if (what === 'forget') values.forget(name)
          const used = what === 'set' ? ([name, index] as const) : found
          model = (used && what !== 'forget' ? [...others, used] : others).slice(-most)
        }
        const expected = new Map(model)
        for (const name of names) expect(values.get(name)).toBe(expected.get(name))
      }),
      { numRuns: runs(300) },
    )
  })
})
