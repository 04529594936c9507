import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { opened } from '../support/stores.ts'

const page = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8')

/** The first block of the page in this language that has so much to say. */
const callsIn = (language: string): string =>
  [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].find(
    ([, its, text = '']) => its === language && text.length > 1_000,
  )?.[2] ?? ''

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0
const running = promisify(execFile)

test.each([
  ['sh', 'bash', ['-euc'], 'task-1'],
  ['python', 'python3', ['-c'], 'task-2'],
] as const)('the calls of docs/http.md do in %s what they say', async (language, program, args, id) => {
  if (!has(program) || (language === 'sh' && !has('curl'))) return
  const store = await opened('memory:')
  const server = await serve({ store, port: 0 })
  atEnd(server.close)
  const script = callsIn(language).replaceAll('http://127.0.0.1:4141', server.url)
  expect(script.length).toBeGreaterThan(1_000)
  const { stdout } = await running(program, [...args, script])
  expect(stdout).toContain('caught-up')
  const events = []
  for await (const { type } of store.conversation(id).events()) events.push(type)
  expect(events).toEqual(['MessageAppended', 'MessageAppended', 'Rewound', 'Rewound', 'MessageAppended'])
})
