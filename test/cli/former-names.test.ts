import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

const pairs: readonly (readonly [former: string, now: string])[] = [
  ['full c --abandoned', 'show c --full --abandoned'],
  ['full c --last 1 --json', 'show c --full --last 1 --json'],
  ['full nobody', 'show nobody --full'],
  ['render c --at 0', 'request c --at 0'],
  ['render c --prefill --json', 'request c --prefill --json'],
  ['sent c', 'request c --call last'],
  ['sent c --call 9', 'request c --call 9'],
  ['sent c --list --json', 'request c --list --json'],
  ['queued c', 'waiting c --queued'],
  ['queued c --json', 'waiting c --queued --json'],
  ['unpark nobody', 'retry nobody'],
  ['token list --file tokens.json', 'serve token list --file tokens.json'],
  ['append c --role user --text x --after 7', 'append c --role user --text x --expect 7'],
  ['list --import none.mjs', 'list --load none.mjs'],
]

test.each(pairs)('%s still does what %s does', async (former, now) => {
  const [before, after] = await inDirectory(async (directory) => {
    await shell('palimpsest append c --role user --text Hello', directory)
    await shell('palimpsest rewind c --to -1', directory)
    return [await shell(`palimpsest ${former}`, directory), await shell(`palimpsest ${now}`, directory)]
  })
  expect(before).toEqual(after)
  expect(before.code).not.toBe(2)
})
