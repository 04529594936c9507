import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { why, whyAll } from '../../src/investigate/index.ts'
import { namesEndOf } from '../../src/investigate/path-ends.ts'
import { termsIn, termsUsedIn } from '../../src/investigate/terms.ts'
import type { Block } from '../../src/events/blocks.ts'
import { atEnd } from '../support/at-end.ts'
import { player } from '../support/investigate/player.ts'

const used = (...content: readonly unknown[]): readonly string[] => [
  ...termsUsedIn([{ role: 'assistant', content: content as readonly Block[] }]),
]
const asked = (input: unknown) => ({ type: 'tool_use', id: 't', name: 'Bash', input })

test('lists what every reply needed and a summary had lost, most needed first', async () => {
  const said = [
    'The bug is in src/parser.ts, see QX-7781.',
    'The total is 120000.',
    'I fix src/parser.ts.',
    'Done: src/parser.ts, total 120000.',
    'The fix of src/parser.ts for QX-7781 is done.',
  ]
  const { chat, at, turn } = await player((n) => said[n] ?? '')
  await turn('What is wrong?')
  await turn('What is the total?')
  const { position } = await chat.condense({
    covers: { first: 0, last: 3 },
    summary: 'About QX-7781.',
    ...at(),
  })
  for (let n = 0; n < 3; n++) await turn(`Go on, ${n}.`)
  expect(await whyAll(chat)).toEqual({
    conversation: 'c',
    replies: 5,
    needed: [
      { term: 'src/parser.ts', calls: [3], uses: 3, hidden: [1], by: [position], inSummary: false },
      { term: '120000', calls: [4], uses: 1, hidden: [3], by: [position], inSummary: false },
      { term: 'QX-7781', calls: [5], uses: 1, hidden: [1], by: [position], inSummary: true },
    ],
  })
})

test('counts a path once, whichever of its ends replies use, and what an abandoned reply needed', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('paths')
  await chat.append({ role: 'user', content: 'See /repo/lib/a.ex and lib/a.ex.' })
  await chat.truncate({ covers: { first: 0, last: 0 } })
  await chat.append([
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content: 'I read lib/a.ex.' },
  ])
  await chat.rewind({ to: 2 })
  await chat.append({ role: 'assistant', content: 'I read /repo/lib/a.ex.' })
  expect(await whyAll(chat)).toMatchObject({
    replies: 2,
    needed: [{ term: '/repo/lib/a.ex', calls: ['p5', 'p3'], uses: 2, hidden: [0], by: [1] }],
  })
})

test('a path is kept if a summary names its end, or a message names it with a folder', async () => {
  const said = ['/repo/src/a.ts, /repo/src/b.ts, /repo/src/index.ts, /repo/src/c.ts', '']
  const { chat, at, turn } = await player((n) => said[n] ?? said[0] ?? '')
  await turn('Which files?')
  await chat.condense({
    covers: { first: 0, last: 1 },
    summary: 'Files: a.ts, test/index.ts and no-b.tsx.',
    ...at(),
  })
  await chat.append({ role: 'user', content: 'See src/c.ts, too.' }, at())
  said[1] = said[0] ?? ''
  await turn('Again?')
  expect((await why(chat)).needed.map(({ term, inSummary }) => [term, inSummary])).toEqual([
    ['/repo/src/index.ts', false],
    ['/repo/src/b.ts', false],
    ['/repo/src/a.ts', true],
  ])
})

test('the end of a path is whole folders and the whole name of the file', () => {
  const named = (text: string, isName = true): boolean => namesEndOf('/repo/src/main.ts', text, isName)
  expect(
    ['main.ts', '`src/main.ts`.', './src/main.ts', '/repo/src/main.ts:3'].map((one) => named(one)),
  ).toEqual(Array(4).fill(true))
  for (const text of ['domain.ts', 'main.tsx', 'main.ts.snap', 'lib/main.ts', 'rc/main.ts', 'no file'])
    expect(named(text)).toBe(false)
  expect(named('main.ts', false)).toBe(false)
  expect(named('src/main.ts', false)).toBe(true)
})

test('an answer has taken no timeout, limit or working directory from anywhere, but every other number and path', () => {
  expect(
    used(
      asked({ timeout: 120000, max_lines: 2000, cwd: '/home/dana/shop', timeout_ms: '60000', offset: 4500 }),
    ),
  ).toEqual([])
  expect(
    used(
      asked({
        command:
          'cd /home/dana/shop && timeout 300 npm test --max-time=5000; sleep 1000; tail -2000 log; (cd "/a/b c"; ls)',
      }),
      asked({ content: '{ timeout: 30000 }' }),
    ),
  ).toEqual([])
  expect(
    used(asked({ amount: 120000, path: '/home/dana/shop', command: 'cat /home/dana/a.ts --id 4711' })),
  ).toEqual(['/home/dana/a.ts', '/home/dana/shop', '4711', '120000'])
  expect(used({ type: 'text', text: 'The timeout of 120000 in GitHub, per UTF-8 and readFile.' })).toEqual([
    'readFile',
    '120000',
  ])
})

test('an answer has taken no name of a language or a tool from anywhere', () => {
  const text = 'this.items, console.log, JSON.parse and is_nil; in_progress, process.ts, order_items'
  expect([...used({ type: 'text', text })].toSorted()).toEqual(['order_items', 'process.ts'])
})

test('among terms that as many messages hide, paths come first, then names with digits, then longer names; round numbers last', async () => {
  const said = ['30000, shortName, muchLongerName, build_7f3a, src/a.ts', '']
  const { chat, at, turn } = await player((n) => said[n] ?? said[0] ?? '')
  await turn('Which?')
  await chat.condense({ covers: { first: 0, last: 1 }, summary: 'Nothing.', ...at() })
  said[1] = said[0] ?? ''
  await turn('Again?')
  expect((await why(chat)).needed.map(({ term }) => term)).toEqual([
    'src/a.ts',
    'build_7f3a',
    'muchLongerName',
    'shortName',
    '30000',
  ])
})

test('finds the settings in megabytes without a space at once', () => {
  for (const run of ['timeout', 'cd ', '--', '--max', 'timeout:', "cd '"])
    expect(used(asked({ text: `${run.repeat(200_000 / run.length)} src/a.ts` }))).toContain('src/a.ts')
})

test('an absolute path keeps its first slash, wherever it stands', () => {
  const around = ['%', '(%)', '`%`', '"%"', 'at=%', '[a](%)', '<%>', 'file://%', 'a:%', '**%**', '{%}']
  for (const one of around)
    expect([...termsIn(one.replace('%', '/home/dana/b_1'))]).toContain('/home/dana/b_1')
  expect([...termsIn('~/dana/b_1 https://example.com/b/c')]).toEqual(
    expect.arrayContaining(['~/dana/b_1', 'example.com/b/c']) as string[],
  )
})
