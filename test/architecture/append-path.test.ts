import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { node, quiet } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const root = new URL('../../', import.meta.url)

/** Appends to a conversation that is open, and prints the files of src whose functions ran for the last append. */
const program = (file: string): string => `
  import { Session } from 'node:inspector/promises'
  import { openStore } from './src/index.ts'
  const store = await openStore(${JSON.stringify(`sqlite:${file}`)})
  const chat = store.conversation('c')
  for (let n = 0; n < 30; n++) await chat.append({ role: n % 2 ? 'assistant' : 'user', content: 'Hello ' + n })
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await chat.append({ role: 'user', content: 'Now' })
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0].count > 0))
  console.log(JSON.stringify(ran.map(({ url }) => url)))
  await store.close()
`

test('an append crosses at most 22 files', () => {
  const printed = execFileSync(
    node,
    ['--input-type=module', '-e', program(join(temporaryFolder(), 'store.db'))],
    {
      cwd: root,
      encoding: 'utf8',
      env: quiet,
    },
  )
  const source = new URL('src/', root).href
  const files = (JSON.parse(printed) as readonly string[]).flatMap((url) =>
    url.startsWith(source) ? [url.slice(source.length)] : [],
  )
  expect(files).toContain('commands/append.ts')
  expect(files.slice(22)).toEqual([])
})
