import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replay } from '../cli/transcript.ts'
import { root } from '../e2e/snippets/snippets.ts'

const file = join(root, 'docs/investigate.md')

test('the commands of docs/investigate.md print what it says (vitest -u writes down what they print)', async () => {
  await expect(await replay(await readFile(file, 'utf8'))).toMatchFileSnapshot(file)
})
