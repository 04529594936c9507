import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTextIndex } from '../../src/investigate/text-index.ts'
import { runs } from '../support/runs.ts'

const word = fc.constantFrom('src/a.ts', 'src/ab.ts', 'fn_one', 'äöü.md', 'x😀.ts', 'a', '')

test('an index finds what a search of all texts finds, whatever the list was before', () => {
  const item = fc.record({ text: fc.array(word).map((words) => words.join(' ')), isMessage: fc.boolean() })
  fc.assert(
    fc.property(
      fc.array(item, { minLength: 1, maxLength: 200 }),
      fc.array(fc.tuple(fc.nat(), fc.nat(), word), { maxLength: 20 }),
      fc.boolean(),
      (all, searches, isMessage) => {
        const index = createTextIndex<(typeof all)[number]>(({ text }) => text)
        for (const [one, other, term] of searches) {
          const list = all.slice(...[one % all.length, other % all.length].toSorted((a, b) => a - b))
          const expected = list.some((each) => each.isMessage === isMessage && each.text.includes(term))
          expect(index.contains(list, term, (each) => each.isMessage === isMessage)).toBe(expected)
        }
      },
    ),
    { numRuns: runs(200) },
  )
})

test('of a list that grows, each text is read a few times', () => {
  const all = Array.from({ length: 5_000 }, (_, n) => ({ n }))
  let reads = 0
  const index = createTextIndex<{ n: number }>(({ n }) => {
    reads++
    return `file-${n}.ts`
  })
  for (let end = 1; end <= all.length; end++)
    expect(index.contains(all.slice(Math.max(0, end - 100), end), `file-${end}.ts`, () => true)).toBe(false)
  expect(reads / all.length).toBeLessThan(4)
})
