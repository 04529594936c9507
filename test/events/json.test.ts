import { runInNewContext } from 'node:vm'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyJson, pathText } from '../../src/events/json.ts'
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
    [Object.create(Object.create({ constructor: 1 })), 'an object with a custom prototype is not plain JSON'],
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

describe('what is copied', () => {
  const anything = fc.anything({
    withNullPrototype: true,
    withDate: true,
    withBigInt: true,
    withSparseArray: true,
    withBoxedValues: true,
    withMap: true,
    withTypedArray: true,
  })

  it('has the text that the value has', () => {
    fc.assert(
      fc.property(fc.oneof(anything, fc.jsonValue()), (value) => {
        const copied = copyJson(value)
        if (E.isRight(copied)) expect(JSON.stringify(copied.right)).toBe(JSON.stringify(value))
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('is every value that was parsed', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.stringify(copyJson(JSON.parse(text)))).toBe(
          JSON.stringify(E.right(JSON.parse(text) as unknown)),
        )
      }),
      { numRuns: runs(300) },
    )
  })

  it('is read once: what a getter shows later is not looked at', () => {
    let reads = 0
    const changing = {
      get text() {
        return ++reads === 1 ? 'first' : undefined
      },
    }
    expect(copyJson([changing])).toEqual(E.right([{ text: 'first' }]))
    expect(reads).toBe(1)
  })

  class Messages extends Array<unknown> {}
  class Writing extends Array<unknown> {
    toJSON(): string {
      return 'something else'
    }
  }
  const hidden = Object.defineProperty({ a: 1 }, 'toJSON', { value: () => 'something else' })
  const inherited: unknown = Object.create(
    Object.assign(Object.create(null), { toJSON: () => 'something else' }),
  )

  it('may be an array of a class of its own', () => {
    expect(copyJson(Messages.of(1, 2))).toEqual(E.right([1, 2]))
  })

  it.each([
    ['an array of a class', Writing.of(1)],
    ['an object that hides it', hidden],
    ['an object that inherits it', inherited],
    ['an object with a method', { toJSON: () => 1 }],
  ])('never writes itself as something else: %s', (_, value) => {
    const problem = 'a value with a toJSON method is not plain JSON: pass the result of the method instead'
    expect(copyJson({ value })).toEqual(E.left({ path: 'value', problem }))
  })

  it('may have data of that name', () => {
    expect(copyJson({ toJSON: 'data' })).toEqual(E.right({ toJSON: 'data' }))
  })
})

it('a path is written as in code', () => {
  expect(pathText([])).toBe('')
  expect(pathText(['content', 0, 'input', 'x'])).toBe('content[0].input.x')
  expect(pathText([0, 'a'])).toBe('[0].a')
})
