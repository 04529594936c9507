import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyReader, type TreeKey, withoutKeys } from '../../../src/store/seal/key-tree.ts'

const root = (): readonly TreeKey[] => [{ level: 0, index: 0, key: randomBytes(32) }]
const last = 2 ** 32 - 1
const revision = fc.oneof(fc.nat(200), fc.integer({ min: 0, max: last }), fc.constant(last))
const range = fc
  .tuple(revision, fc.oneof(fc.constant(0), fc.nat(50), fc.nat(last)))
  .map(([first, more]) => ({ first, last: Math.min(first + more, last) }))

describe('the keys of the events of a stream', () => {
  it('are all different, and the same each time', () => {
    const nodes = root()
    const [read, again] = [keyReader(nodes), keyReader(nodes)]
    const keys = Array.from({ length: 300 }, (_, n) => Buffer.from(read(n) ?? []).toString('hex'))
    expect(new Set(keys).size).toBe(300)
    const backwards = keys.map((_, n) => Buffer.from(again(299 - n) ?? []).toString('hex'))
    expect(backwards.toReversed()).toEqual(keys)
  })

  it('are gone once they are destroyed, and all others are the same', () => {
    fc.assert(
      fc.property(
        fc.array(range, { maxLength: 6 }),
        fc.array(revision, { maxLength: 40 }),
        (ranges, asked) => {
          const nodes = root()
          const left = ranges.reduce((all, one) => withoutKeys(all, one.first, one.last), nodes)
          const [before, after] = [keyReader(nodes), keyReader(left)]
          const edges = ranges.flatMap((one) => [one.first - 1, one.first, one.last, one.last + 1])
          for (const one of [...asked, ...edges].filter((n) => n >= 0 && n <= last)) {
            const isGone = ranges.some((gone) => gone.first <= one && one <= gone.last)
            expect(after(one)).toEqual(isGone ? undefined : before(one))
          }
          // At most as many as two paths down the tree for each range.
          expect(left.length).toBeLessThanOrEqual(1 + ranges.length * 64)
        },
      ),
    )
  })
})
