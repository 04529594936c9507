import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** Words that read as translated, and what to write instead. A space stands for a line break in a comment, too. */
const worst: readonly (readonly [words: string, instead: string])[] = [
  // Clocks are behind or ahead.
  ["behind(?!' : 'ahead)", 'after'],
  ['go(es)? on|gone on|went on|going on', 'continue'],
  ['(?<!there )(is|are|be|was|were) none(?! of)', 'not one, invalid, malformed'],
  ['mend(s|ed|ing)?', 'fix, repair'],
  ['anew', 'again'],
  ['in vain', 'without success, to no effect'],
  ['an? \\w+ of yours', 'your own …'],
  ['last word', 'end'],
  ['who asks', 'the caller'],
]
const patternOf = (words: string): RegExp =>
  new RegExp(`\\b(?:${words.replaceAll(' ', '[\\s/*]+')})\\b`, 'gi')
const patterns = worst.map(([words, instead]) => [patternOf(words), instead] as const)

/** Words that read as translated more often than not, and how often src and docs say them. A number that has fallen is written down here. */
const fading: readonly (readonly [words: string, instead: string, most: number])[] = [
  ['(is|are|was|were|be) told', 'receives, is notified', 41],
  ['so (many|few)', 'this many, at most N', 1],
  ['that there (is|are)', 'name the thing', 4],
  ['that of', 'the … of', 27],
  ['as it is', 'unchanged', 54],
  ['what it', 'name the thing', 105],
  ['somebody', 'a person, another process', 88],
]

/** Golden files and receipts hold these to the byte: the instructions for summaries, and a repair of renderer 1. */
const frozen = new Set([
  'src/agent/receipts/summary-request.ts',
  'src/projections/render/assistant.ts',
  'src/projections/renderers/1/assistant.ts',
])

const root = new URL('../../', import.meta.url)
const readText = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const under = (folder: string, ending: string): readonly string[] =>
  readdirSync(fileURLToPath(new URL(folder, root)), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => `${folder}/${path}`)

/** The old names of options stand as code in what is changed about them. */
const withoutCode = (markdown: string): string => markdown.replaceAll(/`[^`\n]*`/g, '`…`')
/** Of the newest section: what was published stays. */
const newest = (): string => /^## .*?(?=^## )/ms.exec(readText('CHANGELOG.md'))?.[0] ?? ''

/** Each of the worst words in a text: the line, what it says, what it should say. */
const found = (path: string, text: string): readonly string[] =>
  patterns.flatMap(([pattern, instead]) =>
    [...text.matchAll(pattern)].map(({ 0: words, index }) => {
      const line = text.slice(0, index).split('\n').length
      return `${path}:${line}: "${words.replaceAll(/[\s/*]+/g, ' ')}"; write: ${instead}`
    }),
  )

describe('everything is written in plain English', () => {
  const documents = ['README.md', 'CONTRIBUTING.md', 'AGENTS.md', ...under('docs', '.md')]
  test.each(documents)('%s', (path) => {
    expect(found(path, withoutCode(readText(path)))).toEqual([])
  })

  test('what is new in CHANGELOG.md', () => {
    expect(newest()).not.toBe('')
    expect(found('CHANGELOG.md, newest section', withoutCode(newest()))).toEqual([])
  })

  test('comments, messages and help in src', () => {
    const sources = [...under('src', '.ts'), ...under('src', '.tsx')].filter((path) => !frozen.has(path))
    expect(sources.flatMap((path) => found(path, readText(path)))).toEqual([])
  })

  const texts = [
    ...documents.map((path) => withoutCode(readText(path))),
    ...[...under('src', '.ts'), ...under('src', '.tsx')].map(readText),
  ]
  test.each(fading)('of "%s" there is no more than before (write: %s)', (words, _, most) => {
    const pattern = patternOf(words)
    expect(texts.reduce((sum, text) => sum + [...text.matchAll(pattern)].length, 0)).toBeLessThanOrEqual(most)
  })

  test('transcripts', () => {
    const transcripts = under('test/e2e/transcripts', '.md')
    expect(transcripts.flatMap((path) => found(path, withoutBlocks(readText(path))))).toEqual([])
  })
})

/** Without what the commands print: it may quote a model. The lines keep their numbers. */
const withoutBlocks = (markdown: string): string =>
  markdown.replaceAll(/^```.*?^```$/gms, (block) => block.replaceAll(/[^\n]/g, ''))
