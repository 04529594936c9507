import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { replay } from './transcript.ts'

const folder = new URL('../e2e/transcripts/', import.meta.url)

describe('the command line does what the transcripts say (vitest -u writes down what it does)', () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.md')))
    test(`transcript ${name}`, async () => {
      const { pathname } = new URL(name, folder)
      await expect(await replay(await readFile(pathname, 'utf8'))).toMatchFileSnapshot(pathname)
    })
})
