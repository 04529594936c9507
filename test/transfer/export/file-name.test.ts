import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fileNameOf } from '../../../src/transfer/formats/file-name.ts'
import { openStore } from '../../../src/index.ts'
import { app } from '../../../src/server/app.ts'
import { basePath } from '../../../src/server/reply.ts'
import { atEnd } from '../../support/at-end.ts'

const reserved = [
  'con',
  'PRN',
  'aux.log',
  'NUL',
  'com1',
  'LPT9.a',
  '..',
  '.',
  '-rf',
  '--help',
  'a:b',
  ':',
  'C:x',
]
const id = fc.oneof(
  fc.constantFrom(...reserved),
  fc.string({
    unit: fc.constantFrom(...'abCONLPTM019._:-'.split('')),
    minLength: 1,
    maxLength: 200,
  }),
)

test('the name of an exported file is one that every system takes, for every id', () => {
  fc.assert(
    fc.property(id, (given) => {
      const name = fileNameOf(given, 'jsonl')
      expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]*\.jsonl$/)
      expect(name).not.toMatch(/^(?:con|prn|aux|nul|com\d|lpt\d)\./i)
      expect(name.length).toBeLessThanOrEqual(255)
      // As much of the id as can be is in it.
      expect(name).toContain(given.replaceAll(':', '-'))
    }),
  )
})

test('a server offers an export under such a name', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const server = app({ store })
  for (const [given, name] of [
    ['con', '_con.jsonl'],
    ['.a:b', '_.a-b.jsonl'],
    ['task-42', 'task-42.jsonl'],
  ] as const) {
    await store.conversation(given).append({ role: 'user', content: 'Hello.' })
    const answer = await server.request(`http://localhost${basePath}/conversations/${given}/exports`, {
      method: 'POST',
      headers: { host: 'localhost', 'content-type': 'application/json' },
      body: JSON.stringify({ format: 'palimpsest' }),
    })
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`)
    await answer.text()
  }
})
