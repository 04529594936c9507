import * as E from 'fp-ts/lib/Either.js'
import { run } from '../../result/fallible.ts'
import { conversationOf } from '../../events/ids.ts'
import { type DiagnosisFinding, findingOf } from '../diagnosis.ts'
import { holdsSecret, secretsFinding } from '../recorded-secrets.ts'
import type { LogPosition } from './responses.ts'
import type { Reads } from './reads.ts'

/** Maximum number of configurations to examine. They are read in small pages, because each may contain a hundred tools. */
const most = 1_000
const page = 100

/** Searches the oldest configurations for secrets, which earlier versions recorded. */
export const configurationsFinding = async (reading: Reads): Promise<DiagnosisFinding> => {
  const found = new Set<string>()
  let after: LogPosition | undefined
  for (let looked = 0; looked < most; looked += page) {
    const read = await run(reading.all({ on: 'type', prefixes: ['Configured'] }, after, page))
    if (E.isLeft(read))
      return findingOf('secrets', 'warning', `$all cannot be searched for secrets: ${read.left.message}`)
    for (const { stream, data } of read.right) {
      const id = conversationOf(stream)
      if (id !== undefined && holdsSecret(Buffer.from(data).toString())) found.add(id)
    }
    if (read.right.length < page) return secretsFinding(found)
    after = read.right.at(-1)?.place
  }
  return secretsFinding(found, ` (only the first ${most} configurations were checked)`)
}
