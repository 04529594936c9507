import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import Anthropic from '@anthropic-ai/sdk'
import { openStore } from '../../src/index.ts'
import { type ServerHandle, serve } from '../../src/server/serve.ts'
import { type Ran, shell } from '../cli/palimpsest.ts'
import { eventStoreDb, type EventStoreDb } from '../support/eventstoredb/server.ts'
import { type ChatCompletions, chatCompletions } from '../../src/testing/chat-completions/server.ts'
import { type MessagesApi, messagesApi } from '../../src/testing/messages-api/server.ts'
import { tsc } from '../support/tsc.ts'
import { installPackage } from './snippets/installed.ts'
import { root, type Snippet, snippets } from './snippets/snippets.ts'

const all = snippets()
const scene = join(root, 'test/e2e/snippets/scene.ts')
/** An MCP server, as JavaScript. */
const filesServer = join(root, 'test/agent/tools/children/files-server.ts')

const noWarning = '--disable-warning=ExperimentalWarning'
/** What reads the standard input, or changes what others in its process find, has a process to itself. */
const isAlone = (code: string): boolean => /process\.stdin|\bregister[A-Z]/.test(code)

/** A module: the snippet, and an import of what it names of the scene and does not declare. */
const moduleOf = ({ code }: Snippet, names: readonly string[]): string => {
  const free = names.filter(
    (name) =>
      new RegExp(`\\b${name}\\b`).test(code) &&
      !new RegExp(`\\b(?:const|import)\\s+(?:\\{[^}]*)?\\b${name}\\b`).test(code),
  )
  return `import { ${free.join(', ')} } from '../scene.ts'\n${code}\nexport {}\n`
}

/** A folder in which the snippets are modules, and the package is what the sources are. */
const workshop = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-snippets-'))
  await installPackage(folder)
  const typeRoots = [join(root, 'node_modules/@types')]
  const compilerOptions = { paths: {}, rootDir: '/', noUnusedLocals: false, typeRoots }
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*/snippet.ts'] }),
  )
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  await copyFile(scene, join(folder, 'scene.ts'))
  const shared = await readFile(scene, 'utf8')
  const names = [...shared.matchAll(/^export (?:const (\w+)|\{([\w,\s]+)\})/gm)].flatMap(
    ([, name, list = '']) => name ?? list.match(/\w+/g) ?? [],
  )
  for (const [index, snippet] of all.entries()) {
    await mkdir(join(folder, `${index}`))
    await writeFile(join(folder, `${index}/snippet.ts`), moduleOf(snippet, names))
    await copyFile(filesServer, join(folder, `${index}/files-server.js`))
    await symlink(join(root, 'examples'), join(folder, `${index}/examples`))
  }
  return folder
}

/** A server of a conversation `task-42`, and a worker that answers. */
const served = async (baseURL: string) => {
  const store = await openStore('memory:')
  await store.conversation('task-42').append({ role: 'user', content: 'Why does the parser fail?' })
  const client = new Anthropic({ baseURL, apiKey: 'key' })
  const ends = new AbortController()
  const worker = store.worker({ turn: () => ({ client, model: 'claude-opus-5-5' }) })
  const done = worker.run({ signal: ends.signal })
  const stopWorker = async (): Promise<void> => {
    ends.abort()
    await done
  }
  return { http: await serve({ store, port: 0 }), stopWorker }
}

describe('an example in the docs', () => {
  let folder: string
  let api: MessagesApi
  let chat: ChatCompletions
  let server: EventStoreDb
  let http: ServerHandle
  let stopWorker: () => Promise<void>
  let runner: ChildProcess
  let runnerEnded: Promise<unknown>
  let env: Readonly<Record<string, string>>
  beforeAll(async () => {
    folder = await workshop()
    api = await messagesApi({ reply: () => ({ content: [{ type: 'text', text: 'It is not closed.' }] }) })
    chat = await chatCompletions({ reply: () => ({ content: 'It is not closed.' }) })
    server = await eventStoreDb()
    ;({ http, stopWorker } = await served(api.url))
    const claude = { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: api.url }
    env = { ...claude, OPENAI_API_KEY: 'key', OPENAI_BASE_URL: chat.url }
    runner = fork(join(root, 'test/e2e/snippets/runner.ts'), {
      env: { ...process.env, ...env },
      execArgv: [noWarning],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    runnerEnded = once(runner, 'exit')
  })
  afterAll(async () => {
    runner.kill()
    await stopWorker()
    await Promise.all([
      http.close(),
      api.close(),
      chat.close(),
      server.close(),
      rm(folder, { recursive: true, force: true }),
    ])
  })

  test('has the types that the package has', async () => {
    expect(all.length).toBeGreaterThan(6)
    const said = await tsc(['-p', folder])
    const named = said.replaceAll(
      /^.*?(\d+)\/snippet/gm,
      (_, n: string) => `${all[Number(n)]?.place}: snippet`,
    )
    expect(named).toBe('')
  })

  const program = (index: number): Promise<Ran> =>
    shell(`echo Why? | "$NODE" ${noWarning} snippet.ts`, join(folder, `${index}`), env)

  // The tutorial's programs run one after another: tutorial.test.ts.
  const run = [...all.entries()].filter(([, { place }]) => !place.startsWith('docs/turns.md'))
  test.each(run.map(([index, { place }]) => [place, index] as const))('%s runs', async (_, index) => {
    const path = join(folder, `${index}/snippet.ts`)
    const code = (await readFile(path, 'utf8'))
      .replaceAll('esdb://db.example.org:2113', server.url)
      .replaceAll('http://127.0.0.1:4141', http.url)
      .replace("'../scene.ts'", `'../scene.ts?${index}'`)
    await writeFile(path, code)
    if (isAlone(code)) expect(await program(index)).toMatchObject({ stderr: '', code: 0 })
    else {
      runner.send(join(folder, `${index}`))
      const ran = await Promise.race([once(runner, 'message'), runnerEnded])
      expect(ran).toEqual([{ stderr: '', exit: 0 }, undefined])
    }
  })

  test('of a chat at a terminal answers what is typed', async () => {
    const index = all.findIndex(({ code }) => code.includes('process.stdin'))
    const { stdout } = await program(index)
    expect(stdout).toBe('> It is not closed.\n> ')
  })
})
