import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { agentSdk } from './programs.ts'
import { capture } from './support/capture.ts'
import { model, effortsIn, refusedIn, scriptedApi, textOf } from './support/requests.ts'
import { cleanEnvironment, type ClientHome, clientHome, sessionText } from './support/run-client.ts'

// The real Claude Agent SDK with the Claude Code that it brings along. It runs as root, too, as Claude Code does.

const path = agentSdk()

interface Message {
  readonly type: string
  readonly session_id: string
  readonly is_error?: boolean
  readonly result?: string
}
type Options = Readonly<Record<string, unknown>>
interface Sdk {
  readonly query: (given: { readonly prompt: string; readonly options: Options }) => AsyncIterable<Message>
}

const agent = async (url: string, { home, project }: ClientHome) => {
  const { query } = (await import(pathToFileURL(path ?? '').href)) as Sdk
  const env = {
    ...cleanEnvironment(home),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
  const allowedTools = ['Bash', 'Read', 'Edit', 'Agent']
  /** Runs one prompt; returns the id of its session. */
  return async (prompt: string, options: Options = {}): Promise<string> => {
    let last: Message | undefined
    for await (const message of query({
      prompt,
      options: { cwd: project, env, model, allowedTools, ...options },
    }))
      last = message
    expect([last?.type, last?.is_error], `${prompt}: ${last?.result}`).toEqual(['result', false])
    return last?.session_id ?? ''
  }
}

/** Returns the text of a session's file. */
const fileOf = (home: ClientHome, session: string): string =>
  sessionText(home, '.claude/projects', `${session}.jsonl`)

describe.skipIf(path === undefined)('Claude Agent SDK', () => {
  it('has no request refused in a session with tools, a subagent, a compaction, a rewind, a fork and a 529', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    const file = join(home.project, 'notes.txt')
    writeFileSync(file, 'The first line.\n')
    const say = await agent(api.url, home)
    const last = (): string => textOf(api.requests.at(-1))

    const id = await say('Hello.')
    const resume = id
    await say(
      `CALL Bash {"command":"cat notes.txt","description":"read"}\nCALL Read {"file_path":"${file}"}`,
      { resume },
    )
    expect(last()).toContain('The first line.')
    const task = JSON.stringify({
      description: 'look',
      prompt: 'CALL Bash {"command":"echo from the subagent","description":"say"}',
      subagent_type: 'general-purpose',
      run_in_background: false,
    })
    await say(`CALL Agent ${task}`, { resume })
    expect(api.requests.some((request) => textOf(request).includes('from the subagent'))).toBe(true)

    const entries = fileOf(home, id)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Options)
    const reply = entries.find(({ type }) => type === 'assistant')
    await say('Elsewhere.', { resume, resumeSessionAt: reply?.['uuid'], forkSession: true })
    expect(last()).not.toContain('from the subagent')

    await say('OVERLOADED once.', { resume })
    await say('/compact', { resume })
    await say('After the compaction.', { resume })
    expect(last()).toMatch(/Summary \d+ of what was said/)
    expect(effortsIn(api.requests.at(-1)).length).toBeGreaterThan(0)
    const fork = await say('In a fork.', { resume, forkSession: true })
    expect(fork).not.toBe(id)

    expect(refusedIn(api.requests)).toEqual([])
    expect(api.requests.filter(({ status }) => status === 529)).toHaveLength(1)
    capture('agent-sdk', api.requests, fileOf(home, id))
  })
})
