import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createNeedleFinder } from '../../../src/transfer/disclosure/needles.ts'

const common = ['the', 'of', 'an', 'invoice', 'customer', 'paid', 'yesterday', 'a', 'to', 'hours']
/** Words that tell by themselves, in lower case, with those that are longer or shorter by a character. */
const telling = ['4111111', '411111', 'ab12cd', 'ab12cde', 'jo@acme.org', 'jo@acme.orga']

const wordLists = fc.array(fc.constantFrom(...common, ...telling), { maxLength: 12 })
/** A comma joins no numbers. */
const textOf = (words: readonly string[]): string => words.join(', ')
const normal = (words: readonly string[]): string => words.join(' ').replaceAll(/[@.]/g, ' ')

/** Every run and every word of one text, looked for in the other one. */
const repeats = (withheld: readonly string[], shown: readonly string[]): boolean => {
  const [own, other] = [normal(withheld), ` ${normal(shown)} `]
  const runs = Array.from(own, (_, at) => own.slice(at, at + 24)).filter(
    (run, at) => run.length === 24 && (at === 0 || own[at - 1] === ' '),
  )
  return (
    runs.some((run) => other.includes(` ${run}`)) ||
    (own.length >= 12 && other.includes(` ${own} `)) ||
    telling.some((word) => withheld.includes(word) && other.includes(` ${normal([word])} `))
  )
}

describe('words of what is left out', () => {
  test('are found exactly where trying every run finds them', () => {
    fc.assert(
      fc.property(
        fc.array(wordLists, { maxLength: 6 }),
        fc.array(wordLists, { maxLength: 4 }),
        (own, shown) => {
          const find = createNeedleFinder(
            own.map((words, position) => ({ position, texts: [textOf(words)] })),
          )
          const expected = [...own.keys()].filter((at) => shown.some((one) => repeats(own[at] ?? [], one)))
          expect(find(shown.map(textOf))?.of ?? []).toEqual(expected)
        },
      ),
    )
  })

  const find = createNeedleFinder([
    {
      position: 3,
      texts: [
        'Card 4111 1111 1111 1111 12/27 of Jo.Smith@example.com, born 2001-02-03, in file report_2026_a7.',
      ],
    },
  ])
  test.each([
    'CARD: 4111-1111-1111-1111',
    'to jo.smith@EXAMPLE.com',
    '<card 4111 1111\n1111 1111>',
    'see report-2026-a7!',
  ])('are found in another form (%s)', (text) => {
    expect(find([text])?.of).toEqual([3])
  })
  test.each(['born 2001-02-03', 'a card', 'jo.smith@example.org', 'report_2026'])(
    'are not found in %s',
    (text) => {
      expect(find([text])).toBeUndefined()
    },
  )

  test('are shown by the beginning of the longest run and its length', () => {
    const text = 'the customer paid the invoice of yesterday in four parts'
    const known = createNeedleFinder([{ position: 0, texts: [text] }])
    const found = known([`He said that ${text.toUpperCase()}, and then the customer paid the invoice`])
    // The last run that begins with a word ends within one.
    expect(found).toEqual({ of: [0], excerpt: 'the … (54 characters)' })
  })
})
