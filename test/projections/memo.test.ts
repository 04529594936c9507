import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { beginnings, createListMap, memo } from '../../src/projections/memo.ts'

const pool = Array.from({ length: 6 }, (_, n) => ({ n }))
const lists = fc.array(fc.constantFrom(...pool), { maxLength: 8 })
const variant = fc.constantFrom('a', 'b')

describe('a memo', () => {
  test('gives what would be computed, in whatever order objects and variants are asked for', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...pool), variant)), (asked) => {
        const compute = ({ n }: { n: number }, of: string): string => `${n} ${of}`
        const remembered = memo(compute)
        for (const [object, of] of asked) expect(remembered(object, of)).toBe(compute(object, of))
      }),
    )
  })

  test('computes once for an object, also if that gives undefined', () => {
    const computed: object[] = []
    const remembered = memo((object: object) => void computed.push(object))
    const one = {}
    const other = {}
    for (const object of [one, one, other, one]) remembered(object)
    expect(computed).toEqual([one, other])
  })
})

describe('a mapped list', () => {
  test('gives what would be computed from the objects before each, whatever lists came before', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(lists, variant)), (asked) => {
        const map = createListMap<{ n: number }, string>()
        for (const [list, of] of asked) {
          const compute = (_: object, index: number): string =>
            of +
            list
              .slice(0, index + 1)
              .map(({ n }) => n)
              .join()
          expect(map(list, compute, of)).toEqual(list.map(compute))
        }
      }),
    )
  })

  test('computes only what was added at its end', () => {
    const map = createListMap<{ n: number }, number>()
    const computed: number[] = []
    const compute = ({ n }: { n: number }): number => {
      computed.push(n)
      return n
    }
    map(pool.slice(0, 4), compute)
    expect(map(pool, compute)).toEqual([0, 1, 2, 3, 4, 5])
    expect(computed).toEqual([0, 1, 2, 3, 4, 5])
  })
})

describe('what was made of a list', () => {
  test('is found by a list with the same first object, with how much they share', () => {
    const known = beginnings<{ n: number }, string>()
    known.keep(pool.slice(0, 3), 'three')
    expect(known.of(pool)).toEqual({ made: 'three', shared: 3 })
    expect(known.of([...pool.slice(0, 2), ...pool.slice(3)])).toEqual({ made: 'three', shared: 2 })
    expect(known.of(pool.slice(1))).toBeUndefined()
    expect(known.of([])).toBeUndefined()
  })
})
