import { expect, test } from 'vitest'
import { type WordCounts, wordReport } from './words.ts'

/** What `npm run check:words` counted last. A number that has fallen is written down here. */
const counted: WordCounts = {
  oneWordAcross: 55,
  namesakes: 2,
  participles: 0,
  clauses: 2_025,
  whoever: 206,
}

const report = wordReport()

test.each(Object.entries(counted) as readonly (readonly [keyof WordCounts, number])[])(
  'of words that say too little there are no more than before: %s',
  (name, most) => {
    expect(report[name]).toBeLessThanOrEqual(most)
  },
)
