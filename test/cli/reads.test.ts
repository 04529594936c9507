import * as E from 'fp-ts/lib/Either.js'
import { memoryStore } from 'palimpsest/testing'
import { type OpenEventStore, registerStore } from 'palimpsest/fp'
import { expect, test } from 'vitest'
import { counting } from '../support/counting.ts'
import { inDirectory, shell } from './palimpsest.ts'

const { store: counted, asked } = counting(memoryStore())
let askedBefore = 0
const open: OpenEventStore = () => async () =>
  E.right({
    ...counted,
    append: (request) => async () => {
      const appended = await counted.append(request)()
      askedBefore = asked()
      return appended
    },
    close: () => async () => E.right(undefined),
  })
registerStore('counted', open)

const say = 'palimpsest --store counted: append c --role'

// A command, and what it prints of what it wrote.
test.each<readonly [string, string]>([
  [`${say} user --text one`, '    0  ●  user       one\n'],
  [`${say} assistant --text two`, '    1  ●  assistant  two\n'],
  [`${say} user --text three`, '    2  ●  user       three\n'],
  [
    'palimpsest --store counted: condense c --covers 0..1 --summary S',
    '    3  ◆  condensed  hides 2 messages (0..1)  estimated 2 → 1 tokens  S\n',
  ],
  [
    'palimpsest --store counted: undo c',
    '    4  ×  rewound    to 2  undid 3: condensed  hides 2 messages (0..1)  estimated 2 → 1 tokens  S\n',
  ],
  [
    'palimpsest --store counted: truncate c --covers 1..1 --reason old',
    '    5  ■  truncated  hides 1 message (1..1)  estimated 1 → 0 tokens  old\n',
  ],
  ['palimpsest --store counted: restore c --marker 5', '    6  ▲  restored   shows the items that 5 hid\n'],
  ['palimpsest --store counted: rewind c --turns 1', '    7  ×  rewound    to 1\n'],
])('%s reads nothing after its write, unless it says what it undid', async (command, printed) => {
  await inDirectory(async (directory) => {
    expect(await shell(command, directory)).toEqual({ stdout: printed, stderr: '', code: 0 })
  })
  expect(asked() - askedBefore > 0).toBe(command.includes('undo'))
})

test('a repeated append shows what it wrote the first time', async () => {
  await inDirectory(async (directory) => {
    const { stdout } = await shell(`${say} user --text first --command-id k`, directory)
    expect(stdout).toContain('first')
    expect(await shell(`${say} user --text second --command-id k`, directory)).toMatchObject({ stdout })
  })
})
