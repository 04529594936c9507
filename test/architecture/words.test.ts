import { expect, test } from 'vitest'
import { type WordCounts, wordReport } from './words.ts'

/** What `npm run check:words` counted last. A number that has fallen is written down here. */
const counted: WordCounts = {
  oneWordAcross: 140,
  namesakes: 381,
  participles: 238,
  clauses: 2_035,
  whoever: 206,
}

test.each(Object.entries(counted) as readonly (readonly [keyof WordCounts, number])[])(
  'of words that say too little there are no more than before: %s',
  (name, most) => {
    expect(wordReport()[name]).toBeLessThanOrEqual(most)
  },
)
