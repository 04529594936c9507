import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { atOnce, linesIn } from '../../../src/audit/evidence/lines.ts'
import { temporaryFolder } from '../../support/stores.ts'

it('a file has its lines, also where one ends with what is read at once or is longer, and needs a last newline', async () => {
  const file = join(temporaryFolder(), 'lines.txt')
  const sizes = [atOnce - 1, 0, atOnce, 3 * atOnce, 5, atOnce - 9, 0]
  const lines = sizes.map((size, n) => Buffer.alloc(size, 97 + n))
  const newline = Buffer.from('\n')
  writeFileSync(file, Buffer.concat(lines.flatMap((line) => [line, newline])))
  const read: Buffer[] = []
  for await (const line of linesIn(file, 'cut')) read.push(line)
  expect(read.map(({ length }) => length)).toEqual(sizes)
  expect(Buffer.concat(read).equals(Buffer.concat(lines))).toBe(true)

  writeFileSync(file, 'one\ntwo')
  await expect(async () => {
    for await (const line of linesIn(file, 'cut')) read.push(line)
  }).rejects.toThrow('cut')
})
