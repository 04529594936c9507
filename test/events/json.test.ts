import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyJson, isJson, pathText } from '../../src/events/json.ts'
import { runs } from '../support/runs.ts'

const cycle: Record<string, unknown> = {}
cycle['self'] = cycle
const nested = (levels: number): unknown =>
  Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1)

describe('a copy of JSON', () => {
  it.each<readonly [unknown, string]>([
    [NaN, 'NaN is not a JSON number'],
    [-Infinity, '-Infinity is not a JSON number'],
    [undefined, 'JSON cannot hold undefined'],
    [1n, 'JSON cannot hold a bigint'],
    [() => 1, 'JSON cannot hold a function'],
    [Symbol('s'), 'JSON cannot hold a symbol'],
    [new Map(), 'a Map is not plain JSON'],
    [Buffer.from('x'), 'a Buffer is not plain JSON'],
    [
      Object.create(Object.create({ constructor: 1 })),
      'an object with a prototype of its own is not plain JSON',
    ],
  ])('is refused of %s: %s', (value, problem) => {
    expect(copyJson(value)).toEqual({ _tag: 'Left', left: { path: '', problem } })
    expect(copyJson({ list: [0, [value]] })).toEqual({ _tag: 'Left', left: { path: 'list[1][0]', problem } })
  })

  it('is refused of a value that contains itself, but not of one that stands twice', () => {
    expect(copyJson({ cycle })).toEqual({
      _tag: 'Left',
      left: { path: 'cycle.self', problem: 'the value contains itself' },
    })
    const twice = { a: 1 }
    expect(copyJson([twice, twice])).toEqual({ _tag: 'Right', right: [{ a: 1 }, { a: 1 }] })
  })

  it('goes a thousand levels down', () => {
    expect(copyJson(nested(1_001))).toEqual({ _tag: 'Right', right: nested(1_001) })
    expect(copyJson(nested(1_002))).toMatchObject({ left: { problem: 'nested deeper than 1000 levels' } })
  })

  it('takes plain objects of another realm, and those without a prototype', () => {
    const bare: unknown = Object.assign(Object.create(null), { a: 1 })
    expect(copyJson(bare)).toEqual({ _tag: 'Right', right: { a: 1 } })
    expect(copyJson(runInNewContext('({ a: [1] })'))).toEqual({ _tag: 'Right', right: { a: [1] } })
  })

  it("lets an error of the value's own pass", () => {
    const broken = {
      get inner(): never {
        throw new Error('broken getter')
      },
    }
    expect(() => copyJson([broken])).toThrow('broken getter')
  })
})

describe('what is surely JSON', () => {
  const anything = fc.anything({
    withNullPrototype: true,
    withDate: true,
    withBigInt: true,
    withSparseArray: true,
  })

  it('is a value of which a copy has the same text', () => {
    fc.assert(
      fc.property(fc.oneof(anything, fc.jsonValue()), (value) => {
        if (isJson(value))
          expect(copyJson(value)).toMatchObject({ right: JSON.parse(JSON.stringify(value)) as unknown })
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('is every value that was parsed', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(isJson(JSON.parse(text))).toBe(true)
      }),
      { numRuns: runs(300) },
    )
  })

  it.each([{ cycle }, nested(1_002), [undefined], Object.create({ a: 1 }), Array(2)])(
    'is not %#',
    (value) => {
      expect(isJson(value)).toBe(false)
    },
  )
})

it('a path is written as in code', () => {
  expect(pathText([])).toBe('')
  expect(pathText(['content', 0, 'input', 'x'])).toBe('content[0].input.x')
  expect(pathText([0, 'a'])).toBe('[0].a')
})
