import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { News } from '../../src/cli/work/life.ts'
import { messagesApi, type MessagesApiOptions } from '../../src/testing/messages-api/server.ts'
import { atEnd } from '../support/at-end.ts'
import { text, toolUse } from '../support/log.ts'
import { endsWithTest, startHeard } from '../support/node.ts'
import { endHolders } from '../support/postgres/admin.ts'
import { noPostgres, whySkipped } from '../support/postgres/programs.ts'
import { newSchema, postgresUrl } from '../support/postgres/shared.ts'
import { opened, temporaryFolder } from '../support/stores.ts'
import { program, shell } from './palimpsest.ts'

const agent = (api: string): string => `
import Anthropic from '${import.meta.resolve('@anthropic-ai/sdk')}'
const client = new Anthropic({ baseURL: '${api}', apiKey: 'key', maxRetries: 0 })
const tools = [{ name: 'pay', input_schema: { type: 'object' } }]
const run = { pay: { run: () => 'paid', approve: true } }
export default ({ id }) => ({ client, model: 'claude-opus-5-5', system: id, tools, run })
`

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await sleep(10)
}

/** The command line on a new store, as processes. */
const onPostgres = async (reply: MessagesApiOptions['reply']) => {
  const schema = newSchema()
  const url = await postgresUrl(schema)
  const path = await program()
  const api = await messagesApi({ reply })
  atEnd(api.close)
  const file = join(temporaryFolder(), 'agent.mjs')
  writeFileSync(file, agent(api.url))
  const begin = (...args: readonly string[]) => {
    const child = startHeard(path, ...args, '--store', url)
    endsWithTest(child, 'SIGTERM')
    return child
  }
  const says = async (command: string): Promise<string> => {
    const { stdout, stderr, code } = await shell(`palimpsest ${command} --store '${url}'`, dirname(file))
    return code === 0 ? stdout + stderr : `${code}: ${stdout}${stderr}`
  }
  const work = (...options: readonly string[]) => {
    const child = begin('work', file, '--json', ...options)
    const news: News[] = []
    let complaints = ''
    child.stderr?.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
    if (child.stdout) createInterface(child.stdout).on('line', (line) => news.push(JSON.parse(line) as News))
    const of = <T extends News['type']>(type: T) =>
      news.filter((each): each is Extract<News, { readonly type: T }> => each.type === type)
    return { child, of, complaints: () => complaints }
  }
  return { schema, url, begin, says, work }
}

describe.skipIf(noPostgres !== undefined)(`the command line on PostgreSQL${whySkipped}`, () => {
  test('says, serves, works, waits for an approval and ends', async () => {
    const pay = { ...toolUse('toolu_1', { euros: 5 }), name: 'pay' }
    const { url, begin, says, work } = await onPostgres((_, n) => ({
      content: n === 0 ? [pay] : [text('Done.')],
    }))
    expect(await says(`say c 'Pay.' --answer`)).toMatch(/^recorded in c, at position 0/)
    const server = begin('serve', '--port', '0', '--json')
    const [line] = (await once(createInterface(server.stdout as NodeJS.ReadableStream), 'line')) as [string]
    const stream = await fetch(`${(JSON.parse(line) as { url: string }).url}/api/v1/conversations/c/events`, {
      headers: { accept: 'text/event-stream' },
    })
    const told = stream.body?.pipeThrough(new TextDecoderStream()).values()
    const { child, of } = work()
    await until(() => of('step').some(({ outcome }) => outcome === 'waiting'))
    expect(await says('waiting c')).toContain('toolu_1')
    expect(await says('approve c toolu_1 --by ann')).toBe('approved toolu_1 of c, by ann\n')
    let streamed = ''
    while (!streamed.includes('Done.')) streamed += String((await told?.next())?.value)
    await until(() => of('step').some(({ outcome }) => outcome === 'settled'))
    child.kill('SIGTERM')
    server.kill('SIGTERM')
    expect(await Promise.all([once(child, 'close'), once(server, 'close')])).toEqual([
      [0, null],
      [0, null],
    ])
    expect(await says('show c')).toContain('Done.')
    for await (const { workers, steps } of (await opened(url)).workers())
      expect({ workers, steps }).toEqual({ workers: [], steps: [] })
  })

  test('a worker whose session ends while it is stopped has lost its name: others take over its steps', async () => {
    const answers = Promise.withResolvers<void>()
    let calls = 0
    const { schema, url, says, work } = await onPostgres(async () => {
      calls++
      await answers.promise
      return { content: [text('Yes.')] }
    })
    expect(await says(`say c 'Is it there?' --answer`)).toMatch(/^recorded/)
    const first = work('--name', 'first')
    await until(() => calls === 1)
    const other = work('--name', 'other')
    await until(() => other.of('started').length === 1)
    const { pid, worker } = first.of('started')[0] ?? {}
    process.kill(Number(pid), 'SIGSTOP')
    await endHolders(schema, String(worker))
    await until(() => calls === 2)
    process.kill(Number(pid), 'SIGCONT')
    await until(() => first.of('ended').length === 1)
    const complaint = `${worker} ends: its connection to the store broke, and others take over its steps`
    await until(() => first.complaints().includes(complaint))
    await until(() => first.of('started').length === 2)
    answers.resolve()
    await until(() => other.of('step').some(({ outcome }) => outcome === 'settled'))
    const store = await opened(url)
    const roles = (await store.conversation('c').effective()).map(
      (item) => item.kind === 'message' && item.role,
    )
    expect(roles).toEqual(['user', 'assistant'])
    for (const { child } of [first, other]) child.kill('SIGTERM')
    expect(await Promise.all([first, other].map(({ child }) => once(child, 'close')))).toEqual([
      [0, null],
      [0, null],
    ])
  })
})
