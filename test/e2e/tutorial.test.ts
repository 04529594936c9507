import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chatCompletions } from '../../src/testing/chat-completions/server.ts'
import { type ApiReply, messagesApi } from '../../src/testing/index.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { replayIn } from '../cli/transcript.ts'
import { atEnd } from '../support/at-end.ts'
import { installPackage } from './snippets/installed.ts'
import { root, snippets } from './snippets/snippets.ts'

const text = (said: string): ApiReply => ({ content: [{ type: 'text', text: said }] })
const call = (id: string, name: string, input: object): ApiReply => ({
  content: [{ type: 'tool_use', id, name, input }],
})

/** What the model says in the tutorial, in this order. */
const replies = [
  text('Hello, Kim!'),
  text('Your name is Kim.'),
  call('toolu_list', 'read_file', { path: 'list.txt' }),
  text('Milk, bread and tea.'),
  call('toolu_remove', 'remove_file', { path: 'list.txt' }),
  text('The list is gone.'),
  call('toolu_package', 'read_file', { path: 'package.json' }),
  text('That its files are modules.'),
  call('toolu_ask', 'ask_user', { question: 'Which list?' }),
  text('There is no list for Friday.'),
]

test('the tutorial prints what it says (vitest -u writes down what it prints), and its page can be used', () =>
  inDirectory(async (directory) => {
    const left = [...replies]
    const api = await messagesApi({ reply: () => left.shift() ?? text('?') })
    const gpt = await chatCompletions({ reply: () => ({ content: 'Milk, bread and tea.' }) })
    atEnd(api.close, gpt.close)
    const claude = { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: api.url }
    const env = { ...claude, OPENAI_API_KEY: 'key', OPENAI_BASE_URL: gpt.url, PORT: '0' }
    await installPackage(directory)
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
    await writeFile(join(directory, 'list.txt'), 'Milk, bread, tea.\n')

    const document = join(root, 'docs/turns.md')
    await expect(await replayIn(directory, await readFile(document, 'utf8'), env)).toMatchFileSnapshot(
      document,
    )

    await withServer(directory, env, usePage)
    expect(left).toEqual([])
    expect(api.requests.filter(({ status }) => status !== 200)).toEqual([])
  }))

const programs = snippets().filter(({ place }) => place.startsWith('docs/turns.md'))

test.each(programs.map(({ place, code }) => [place, code] as const))(
  '%s runs in an empty folder',
  (_, code) =>
    inDirectory(async (directory) => {
      const api = await messagesApi({ reply: () => text('Hello!') })
      atEnd(api.close)
      const env = { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: api.url, OPENAI_API_KEY: 'key', PORT: '0' }
      await installPackage(directory)
      await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
      const [, name = ''] = /^\/\/ (\S+\.ts)/.exec(code) ?? []
      await writeFile(join(directory, name), code)
      if (name === 'server.ts') await withServer(directory, env, beginPage)
      else {
        const said = await shell(`"$NODE" ${name} Hi`, directory, env)
        expect(said).toMatchObject({ stdout: expect.stringMatching('Hello!'), code: 0 })
        const again = await shell(`"$NODE" ${name}`, directory, env)
        expect(again).toMatchObject({ stdout: expect.stringMatching('append a user message first'), code: 0 })
      }
    }),
)

test('the stand-in of the tutorial answers in its steps without a key, and calls the tools', () =>
  inDirectory(async (directory) => {
    await installPackage(directory)
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
    await writeFile(join(directory, 'list.txt'), 'Milk, bread, tea.\n')
    const [, code = ''] =
      /```js\n([\s\S]*?)```/.exec(await readFile(join(root, 'docs/turns.md'), 'utf8')) ?? []
    await writeFile(join(directory, 'stand-in.js'), code)
    const standIn = spawn(process.execPath, ['stand-in.js'], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const over = once(standIn, 'close')
    try {
      let printed = ''
      while (!/OPENAI_BASE_URL=.*\n/.test(printed)) printed += String((await once(standIn.stdout, 'data'))[0])
      const env = Object.fromEntries(printed.matchAll(/(\w+)=(\S+)/g).map(([, name, value]) => [name, value]))
      const says = async (step: number, message: string): Promise<string> => {
        await writeFile(join(directory, 'agent.ts'), programs[step - 1]?.code ?? '')
        return (await shell(`"$NODE" agent.ts "${message}"`, directory, env)).stdout
      }
      expect(await says(1, 'What is my name?')).toBe('Your name is Kim.\n')
      expect(await says(2, 'What is on list.txt?')).toContain("read_file { path: 'list.txt' }")
      expect(await says(4, 'What does package.json say?')).toContain('The tool returned')
      expect(await says(3, 'Remove the list.')).toContain('waiting for approval')
      expect(await says(5, 'And what was on my list?')).toContain('Hello, Kim!')
    } finally {
      standIn.kill()
      await over
    }
  }))

/** Runs the tutorial's server while its page is used. */
const withServer = async (
  cwd: string,
  env: Readonly<Record<string, string>>,
  use: (url: string) => Promise<void>,
): Promise<void> => {
  const server = spawn(process.execPath, ['server.ts'], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const over = once(server, 'close')
  try {
    const [printed] = await Promise.race([once(server.stdout, 'data'), over])
    await use(String(printed).trim())
    expect(server.exitCode).toBeNull()
  } finally {
    server.kill()
    await over
  }
}

/** Stops a turn before there is one, then begins the conversation. */
const beginPage = async (url: string): Promise<void> => {
  const headers = { 'content-type': 'application/json' }
  const post = async (path: string, body: object): Promise<number> =>
    (await fetch(`${url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status
  const events = eventsOf(await fetch(`${url}/events`))
  expect(await post('stop', {})).toBe(204)
  expect(await post('say', { text: 'Hi' })).toBe(204)
  expect(await next(events, 'done')).toMatchObject({ turned: { ended: 'stop' } })
}

const usePage = async (url: string): Promise<void> => {
  const post = async (path: string, body: object, type = 'application/json'): Promise<number> => {
    const sent = { method: 'POST', headers: { 'content-type': type }, body: JSON.stringify(body) }
    return (await fetch(`${url}/${path}`, sent)).status
  }
  expect(await (await fetch(url)).text()).toContain('<form>')
  const events = eventsOf(await fetch(`${url}/events`))
  expect(await post('say', { text: 'What is on the list?' })).toBe(204)
  const asked = { type: 'waiting', why: 'handed-back', calls: [{ call: 'toolu_ask', tool: 'ask_user' }] }
  expect(await next(events, 'waiting')).toMatchObject(asked)
  expect(await next(eventsOf(await fetch(`${url}/events`)), 'waiting')).toMatchObject(asked)
  expect(await post('deny', { call: 'toolu_ask' })).toBe(409)
  expect(await post('answer', { call: 'toolu_ask', text: 'For Friday.' }, 'text/plain')).toBe(415)
  expect(await post('answer', { call: 'toolu_ask', text: 'For Friday.' })).toBe(204)
  expect(await next(events, 'done')).toMatchObject({ turned: { ended: 'waiting' } })
  expect(await next(events, 'done')).toMatchObject({ turned: { ended: 'stop' } })
  expect(await post('stop', {})).toBe(204)
}

type Told = { readonly type: string }

/** What a page is told. */
async function* eventsOf({ body }: Response): AsyncGenerator<Told> {
  let rest = ''
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + piece).split('\n\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line.slice('data: '.length))
  }
}

/** The next event of this type. */
const next = async (events: AsyncGenerator<Told>, type: string): Promise<Told | undefined> => {
  for (;;) {
    const { value, done } = await events.next()
    if (done || value.type === type) return value
  }
}
