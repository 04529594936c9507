import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shell } from '../cli/palimpsest.ts'
import { eventStoreDb, type EventStoreDb } from '../support/eventstoredb/server.ts'
import { type ChatCompletions, chatCompletions } from '../../src/testing/chat-completions/server.ts'
import { type MessagesApi, messagesApi } from '../../src/testing/messages-api/server.ts'
import { installPackage } from './snippets/installed.ts'
import { root, type Snippet, snippets } from './snippets/snippets.ts'

const all = snippets()
const scene = join(root, 'test/e2e/snippets/scene.ts')
/** An MCP server, as JavaScript. */
const filesServer = join(root, 'test/tools/children/files-server.ts')

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
  }
  return folder
}

describe('an example in the docs', () => {
  let folder: string
  let api: MessagesApi
  let chat: ChatCompletions
  let server: EventStoreDb
  beforeAll(async () => {
    folder = await workshop()
    api = await messagesApi({ reply: () => ({ content: [{ type: 'text', text: 'It is not closed.' }] }) })
    chat = await chatCompletions({ reply: () => ({ content: 'It is not closed.' }) })
    server = await eventStoreDb()
  })
  afterAll(async () => {
    await Promise.all([
      api.close(),
      chat.close(),
      server.close(),
      rm(folder, { recursive: true, force: true }),
    ])
  })

  test('has the types that the package has', async () => {
    expect(all.length).toBeGreaterThan(6)
    const { stdout } = await shell(`"$ROOT/node_modules/.bin/tsc" -p .`, folder)
    const named = stdout.replaceAll(
      /^(\d+)\/snippet/gm,
      (_, n: string) => `${all[Number(n)]?.place}: snippet`,
    )
    expect(named).toBe('')
  })

  // The tutorial's programs run one after another: tutorial.test.ts.
  const alone = [...all.entries()].filter(([, { place }]) => !place.startsWith('docs/turns.md'))
  test.each(alone.map(([index, { place }]) => [place, index] as const))('%s runs', async (_, index) => {
    const path = join(folder, `${index}/snippet.ts`)
    const code = await readFile(path, 'utf8')
    await writeFile(path, code.replaceAll('esdb://db.example.org:2113', server.url))
    const { stderr, code: exit } = await shell(
      `echo Why? | ANTHROPIC_API_KEY=key ANTHROPIC_BASE_URL=${api.url} OPENAI_API_KEY=key OPENAI_BASE_URL=${chat.url} "$NODE" --disable-warning=ExperimentalWarning snippet.ts`,
      join(folder, `${index}`),
    )
    expect({ stderr, exit }).toEqual({ stderr: '', exit: 0 })
  })

  test('of a chat at a terminal answers what is typed', async () => {
    const index = all.findIndex(({ code }) => code.includes('process.stdin'))
    const { stdout } = await shell(
      `echo Why? | OPENAI_API_KEY=key OPENAI_BASE_URL=${chat.url} "$NODE" --disable-warning=ExperimentalWarning snippet.ts`,
      join(folder, `${index}`),
    )
    expect(stdout).toBe('> It is not closed.\n> ')
  })
})
