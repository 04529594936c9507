// npm run demo:agent-sdk: an agent of the Claude Agent SDK whose sessions are conversations. It runs offline, with a scripted model.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openStore } from '../../src/index.ts'
import { sessionStore, withSessionStore } from '../../src/frameworks/claude-agent-sdk.ts'
import { messagesApi } from '../../src/testing/index.ts'
import { agentSdk } from '../../test/clients/programs.ts'
import { replyTo } from './model.ts'

interface Message {
  readonly session_id: string
  readonly result?: string
}
interface AgentSdk {
  readonly query: (given: { readonly prompt: string; readonly options: object }) => AsyncIterable<Message>
}

const say = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`)

const demo = async (sdk: string): Promise<void> => {
  const { query } = (await import(pathToFileURL(sdk).href)) as AgentSdk
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-agent-sdk-'))
  const api = await messagesApi({ reply: ({ messages }) => replyTo(messages) })
  const store = await openStore(`sqlite:${join(folder, 'conversations.db')}`)
  const sessions = sessionStore(store, { configFolder: join(folder, '.claude') })
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    CLAUDE_CONFIG_DIR: join(folder, '.claude'),
    ANTHROPIC_BASE_URL: api.url,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
  }
  const ask = async (prompt: string, more: object = {}): Promise<string> => {
    say(`> ${prompt}`)
    let session = ''
    const options = { cwd: folder, env, model: 'claude-opus-5-5', allowedTools: ['Read'], ...more }
    for await (const { session_id: id, result } of query({
      prompt,
      options: withSessionStore(options, sessions),
    })) {
      session = id
      if (result !== undefined) say(`< ${result}`)
    }
    return session
  }
  try {
    await writeFile(join(folder, 'parser.ts'), 'const parse = (text: string) => text.split(",")\n')
    const session = await ask('Why does the parser fail?')
    await rm(join(folder, '.claude'), { recursive: true })
    say('Claude Code’s own transcript is deleted: the session is resumed from the store.')
    await ask('What did I ask?', { resume: session })
    await sessions.settled()
    for await (const { id, events } of store.conversations()) say(`${id}: ${events} events`)
  } finally {
    await store.close()
    await api.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

const sdk = agentSdk()
if (sdk === undefined) {
  process.stderr.write('The Claude Agent SDK is not installed: npm run clients agent-sdk\n')
  process.exitCode = 2
} else await demo(sdk)
