import { expect, test } from 'vitest'
import { type WordCounts, wordReport } from './words.ts'

/** What `npm run check:words` counted last. A number that has fallen is written down here. */
const counted: WordCounts = {
  oneWordAcross: 54,
  namesakes: 0,
  participles: 0,
  participleFunctions: 0,
  clauses: 3,
  whoever: 7,
}

const report = wordReport()

/** Words of the field: the only names of one word that a type of another folder may have. */
const fieldWords = new Set(
  `Anchor Approval Audit Block Budget Catalogue Checkpoint Clock Codec Configuration Container Conversation Covers Decoder Denial Diff
  Effective Entry Event Evidence Excerpt Fallible Fields Format Item Json Lineage Link Log Message Metadata Model Note Origin Policy
  Preview Price Prices Receipt Reply Role Roster Scheme Signer Slot Stats Store Summarizer Tool Tools Usage View Worker
  Workspace`.split(/\s+/),
)

test('a type that crosses a folder has two words, or a word of the field', () => {
  expect(fieldWords.size).toBeLessThanOrEqual(60)
  expect(report.names.oneWordAcross.filter((type) => !fieldWords.has(type.split(' ')[1] ?? ''))).toEqual([])
})

test.each(Object.entries(counted) as readonly (readonly [keyof WordCounts, number])[])(
  'of words that say too little there are no more than before: %s',
  (name, most) => {
    expect(report[name]).toBeLessThanOrEqual(most)
  },
)
