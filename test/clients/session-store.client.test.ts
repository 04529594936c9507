import { rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sessionStore } from '../../src/frameworks/claude-agent-sdk.ts'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { ended, startHeard } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'
import { tsc } from '../support/tsc.ts'
import { agentSdk, sessionStoreChecks } from './programs.ts'
import { model, refusedIn, scriptedApi, textOf } from './support/requests.ts'
import { cleanEnvironment, clientHome } from './support/run-client.ts'
import { messageUnits } from './units.ts'

const checks = sessionStoreChecks()
const sdk = agentSdk()

interface Checks {
  readonly runSessionStoreConformance: (makeStore: () => Promise<unknown>) => void
}

// Unchanged, with Vitest for `bun:test`.
const { runSessionStoreConformance }: Checks =
  checks === undefined
    ? { runSessionStoreConformance: () => it('are in the cache', () => expect(checks).toBeDefined()) }
    : ((await import(checks)) as Checks)

describe.skipIf(checks === undefined)('the checks of the Claude Agent SDK for stores of sessions', () => {
  runSessionStoreConformance(async () => {
    const store = await openStore('memory:')
    const sessions = sessionStore(store, { configFolder: '/nowhere' })
    atEnd(async () => {
      await sessions.settled()
      await store.close()
    })
    return sessions
  })
})

type Options = Readonly<Record<string, unknown>>
interface Message {
  readonly type: string
  readonly subtype?: string
  readonly session_id: string
  readonly is_error?: boolean
}
interface Sdk {
  readonly query: (given: { readonly prompt: string; readonly options: Options }) => AsyncIterable<Message>
}

describe.skipIf(sdk === undefined)('the Claude Agent SDK', () => {
  it('takes the store by its own types', async () => {
    const root = resolve(import.meta.dirname, '../..')
    const path = join(temporaryFolder(), 'typed.ts')
    const program = (key: string): string => `
      import type { Options, SessionStore } from '${sdk?.replace('sdk.mjs', 'sdk.d.ts')}'
      import { sessionConversation, sessionStore, withSessionStore } from '${root}/src/frameworks/claude-agent-sdk.ts'
      import type { Store } from '${root}/src/index.ts'
      declare const store: Store
      declare const key: Parameters<SessionStore['append']>[0]
      export const sessions: SessionStore = sessionStore(store)
      export const options: Options = withSessionStore({ cwd: '/' }, sessionStore(store))
      export const id: string = sessionConversation(${key})`
    const flags = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--skipLibCheck',
      '--ignoreConfig',
      '--target',
      'esnext',
    ]
    const types = [
      '--module',
      'nodenext',
      '--allowImportingTsExtensions',
      '--types',
      'node',
      '--typeRoots',
      `${root}/node_modules/@types`,
    ]
    /** What the compiler says about the program; the sources are checked with their own settings. */
    const compiled = async (key: string): Promise<readonly string[]> => {
      writeFileSync(path, program(key))
      const said = await tsc([...flags, ...types, path])
      return said.split('\n').filter((each) => each.includes('typed.ts'))
    }
    expect(await compiled('key')).toEqual([])
    expect(await compiled('{}')).toMatchObject([expect.stringContaining('projectKey')])
  })

  it('resumes a session with tools, a subagent and a compaction from the store alone', async () => {
    const [api, { home, project }] = [await scriptedApi(), clientHome()]
    const config = join(home, '.claude')
    const { query } = (await import(pathToFileURL(sdk ?? '').href)) as Sdk
    const store = await openStore('memory:')
    const sessions = sessionStore(store, { configFolder: config })
    atEnd(store.close)
    const env = {
      ...cleanEnvironment(home),
      CLAUDE_CONFIG_DIR: config,
      ANTHROPIC_BASE_URL: api.url,
      ANTHROPIC_API_KEY: 'sk-ant-dummy',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }
    const allowedTools = ['Bash', 'Read', 'Agent']
    const say = async (prompt: string, more: Options = {}): Promise<string> => {
      const all: Message[] = []
      const options = { cwd: project, env, model, allowedTools, sessionStore: sessions, ...more }
      for await (const message of query({ prompt, options })) all.push(message)
      expect(all.filter(({ subtype }) => subtype === 'mirror_error')).toEqual([])
      expect([all.at(-1)?.type, all.at(-1)?.is_error]).toEqual(['result', false])
      return all.at(-1)?.session_id ?? ''
    }
    const file = join(project, 'notes.txt')
    writeFileSync(file, 'The first line.\n')
    const resume = await say('Hello.')
    const forget = (): void => rmSync(config, { recursive: true, force: true })
    forget()
    await say(`CALL Read {"file_path":"${file}"}`, { resume })
    const task = JSON.stringify({
      description: 'look',
      prompt: 'CALL Bash {"command":"echo from the subagent","description":"say"}',
      subagent_type: 'general-purpose',
      run_in_background: false,
    })
    await say(`CALL Agent ${task}`, { resume })
    const before = messageUnits(api.requests.at(-1)?.body?.messages ?? [])
    forget()
    await say('From the store alone.', { resume })
    const after = messageUnits(api.requests.at(-1)?.body?.messages ?? [])
    expect(after.slice(0, before.length)).toEqual(before)
    await say('/compact', { resume })
    forget()
    await say('After the compaction.', { resume, sessionStoreFlush: 'eager' })
    expect(textOf(api.requests.at(-1))).toMatch(/Summary \d+ of what was said/)
    const fork = await say('In a fork.', { resume, forkSession: true })
    await sessions.settled()

    const found: { readonly id: string; readonly shown: string }[] = []
    for await (const { id } of store.conversations({ beginning: 'agent-sdk:' })) {
      expect((await store.conversation(id).verify()).discrepancy).toBeUndefined()
      found.push({ id, shown: JSON.stringify(await store.conversation(id).effective()) })
    }
    const of = (session: string) => found.find(({ id }) => id.endsWith(`:${session}`))
    expect(of(resume)?.shown).toMatch(/Summary \d+ of what was said.*After the compaction/)
    expect(of(fork)?.shown).toContain('In a fork.')
    const agent = found.find(({ id }) => id.includes(`:${resume}:`))
    expect(agent?.shown).toContain('from the subagent')
    expect(await store.conversation(agent?.id ?? '').links()).toMatchObject([
      { relation: 'subagent-of', conversation: of(resume)?.id },
      { relation: 'has-subagent' },
    ])
    expect(refusedIn(api.requests)).toEqual([])
  })

  it('runs the example', async () => {
    const { output, code } = await ended(startHeard('../examples/claude-agent-sdk/main.ts'))
    expect(output).toContain('< First you asked: “Why does the parser fail?”')
    expect(output).toMatch(/^agent-sdk:.*: \d+ events$/m)
    expect(code).toBe(0)
  })
})
